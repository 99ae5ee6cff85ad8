"""What held-out rows decide about the second stage: the cost of the classifiers and the weights of the parts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from xmach.data import Dataset
from xmach.metrics import propensities
from xmach.predictor import Predictor
from xmach.ranking import Fusion, Ranking, Shortlist
from xmach.ranking.fusion import PARTS
from xmach.ranking.weighing import DEPTH, Trial
from xmach.training.job import Job
from xmach.types import FloatArray


@dataclass(frozen=True)
class RankerChoice:
    """What held-out rows decided."""

    fusion: Fusion
    cost: float  # of the classifiers; 0 if there are none

    @property
    def helps(self) -> bool:
        """Whether any other part counts than the sketch's own score."""
        return any(self.fusion.uses(part) for part in PARTS if part != "mach")

    def applied(self, ranking: Ranking) -> Ranking | None:
        """The ranking with these weights, without the parts that do not count; None if nothing helps the sketch."""
        fusion = self.fusion
        if not self.helps:
            return None
        return replace(
            ranking,
            fusion=fusion,
            cost=self.cost,
            profiles=ranking.profiles if fusion.uses("profile") else None,
            ranker=ranking.ranker if fusion.uses("ranker") else None,
            texts=ranking.texts if fusion.uses("text") else None,
        )


def best_fusion(ranking: Ranking, predictor: Predictor, job: Job, held_out: Dataset) -> tuple[Fusion, float]:
    """Return the fusion that ranks held-out rows best for the job's goal, and the quality it reaches."""
    data = job.data
    shortlist, parts = _candidates(ranking, predictor, held_out)
    worth = 1.0 / propensities(data.label_counts().dense(), data.n_rows)
    labels = replace(held_out.labels, n_columns=max(held_out.labels.n_columns, len(worth)))
    depth = 0 if ranking.texts is None else DEPTH
    return Trial(shortlist, parts, labels, worth, depth, held_out.weights, job.plan.ranker_goal).fit()


def _candidates(ranking: Ranking, predictor: Predictor, rows: Dataset) -> tuple[Shortlist, dict[str, FloatArray]]:
    """The candidates of rows, and the values of their parts."""
    stage, shortlists, values = predictor.second_stage(ranking), [], []
    for batch in predictor.batches(predictor.rows(rows.features)):
        shortlist = stage.shortlist(batch)
        shortlists.append(shortlist)
        values.append(stage.parts(batch, shortlist))
    return _stacked(shortlists), {name: np.concatenate([each[name] for each in values]) for name in values[0]}


def _stacked(shortlists: Sequence[Shortlist]) -> Shortlist:
    """The shortlists of consecutive rows as one."""
    lengths = np.concatenate([np.diff(each.indptr) for each in shortlists])
    return Shortlist(np.append(0, np.cumsum(lengths)), np.concatenate([each.ids for each in shortlists]))
