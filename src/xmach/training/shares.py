"""`only_ranker`: a share of the ranker's training, so that machines divide it; a run without it joins and finishes.

Shortlists and classifiers are divided; everything else is cheap beside them and made by every machine that needs it.
Classifiers need the shortlists of all rows, so each share is run twice if shares are trained at the same time. A trial
model is not divided: the first share trains it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from logging import getLogger
from typing import Any, NamedTuple

from xmach.config import NONE, PROFILE, MachConfig
from xmach.errors import ModelIncomplete, ParameterError
from xmach.parameters import whole
from xmach.store import ModelStore, load
from xmach.training.fitted import Fitted
from xmach.training.held_out import split_rows
from xmach.training.job import Job
from xmach.training.ranker_parts import RankerParts, ranker_parts
from xmach.training.ranking import COSTS
from xmach.training.run import Resources
from xmach.training.shards import Shard
from xmach.training.trial import choose_by_trial, trial_is_finished

_log = getLogger(__name__)
_AGAIN = "when all shares have got here, run each of them again"
_JOIN = "run once without only_ranker"


class Share(NamedTuple):
    """Share `number` of `total`, counted from 1."""

    number: int
    total: int

    def __str__(self) -> str:
        return f"{self.number}/{self.total}"

    def of(self, shards: Sequence[Shard]) -> Sequence[Shard]:
        """The shards of this share."""
        return shards[self.number - 1 :: self.total]


def share_of(only_ranker: Any, only: Sequence[int] | None, store: ModelStore | None) -> Share | None:
    """The share that is asked for. Raises ModelIncomplete if repetitions are missing that `only` does not train."""
    if only_ranker is None:
        return None
    if not isinstance(only_ranker, tuple | list) or len(only_ranker) != 2:
        raise ParameterError(f"only_ranker must be a pair such as (1, 4), share 1 of 4; got {only_ranker!r}")
    total = whole("the number of shares in only_ranker", only_ranker[1], 1)
    share = Share(whole("the share in only_ranker", only_ranker[0], 1, total), total)
    if store is None:
        raise ParameterError("only_ranker needs a folder: the one that holds the repetitions")
    if only is None:
        _check_repetitions(store)
    return share


def _check_repetitions(store: ModelStore) -> None:
    if store.begun_plan() is None:
        raise ModelIncomplete(f"{store.folder}: only_ranker needs all repetitions, but there is none; train them first")
    n_repetitions, present = store.bare_plan().hashes.n_repetitions, store.present()
    if len(present) < n_repetitions:
        missing = ", ".join(str(r) for r in range(n_repetitions) if r not in present)
        raise ModelIncomplete(
            f"{store.folder}: only_ranker needs all repetitions, but {n_repetitions - len(present)} of {n_repetitions} "
            f"are missing ({missing}); train them first, or copy their files here"
        )


def train_share(
    job: Job, config: MachConfig, share: Share, store: ModelStore, resources: Resources, fit: Callable[..., Fitted]
) -> None:
    """Train a share of the ranker as far as is possible, and say what is to be run next; `fit` trains a trial model."""
    costs: Sequence[float] = COSTS
    if job.validation is None:
        costs = ()
        if share.number == 1 or trial_is_finished(store):
            choice = choose_by_trial(job, config, resources, fit)
            assert choice is not None
            if not choice.fusion.uses("ranker"):
                _log.info(f"ranker {share}: the trial found no use for classifiers: nothing is left to divide; {_JOIN}")
                return
            costs = (choice.cost,)
    with ranker_parts(job, load(store.folder, allow_partial=True), resources) as parts:
        _log.info(f"ranker {share}: {_trained(parts, share, costs)}")


def check_divisible(job: Job) -> None:
    """Raise ParameterError if the model has no ranker whose training could be divided."""
    kind = job.plan.ranker
    if kind == NONE:
        raise ParameterError("only_ranker: this model has no ranker (ranker='none')")
    if kind == PROFILE:
        raise ParameterError(
            f"only_ranker: label profiles take seconds and are not divided (ranker='profile'); {_JOIN}"
        )
    if job.validation is None and split_rows(job.data, job.plan.seed, job.label_text is not None) is None:
        raise ParameterError(f"only_ranker: there are too few rows for a ranker; {_JOIN}")


def _trained(parts: RankerParts, share: Share, costs: Sequence[float]) -> str:
    """Make the share's shards, as far as the shards before them are there; return what was done, and what is next.

    Without `costs`, the trial that chooses the cost is missing.
    """
    profiles = parts.profiles(parts.budget.for_profiles(beside_classifiers=True))
    shortlists = parts.shortlist_shards(profiles)
    if missing := parts.make_shortlists(shortlists, share.of):
        return f"its shortlists are made, those of other shares lack {_shards(missing)}; {_AGAIN}, for the classifiers"
    if not costs:
        return f"all shortlists are made, but the trial that share 1 trains is not finished; {_AGAIN}"
    negatives = parts.negatives(shortlists)
    missing = sum([parts.make_classifiers(negatives, cost, share.of) for cost in costs])
    if missing:
        lack = f"those of other shares lack {_shards(missing)}"
        return f"its classifiers are made, {lack}; when all shares have got here, {_JOIN}"
    return f"all shortlists and classifiers are made; {_JOIN}, which joins them and finishes the model"


def _shards(count: int) -> str:
    return "1 shard" if count == 1 else f"{count} shards"
