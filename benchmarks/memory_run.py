"""`xmach train` of a case with a ranker: every part is stored, and sizes are written down.

    python -m benchmarks.memory_run FOLDER STORED train ...

Of the costs of classifiers only the highest is tried, which takes most. Whether parts help does not matter here, so all
of them are kept. FOLDER/facts.json gets the entries of each part. STORED is False for training in memory.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from unittest.mock import patch

import xmach.training
from xmach.cli import main
from xmach.planning.ranker_sizes import HIGHEST_COST
from xmach.ranking import LabelWeights, Profiles, weighing
from xmach.training import Fitted, ranking


def counted(join: Callable[..., Any], name: str, joined: dict[str, int]) -> Callable[..., Any]:
    """`join`, noting how many entries its parts have, and the result."""

    def noting(parts: Any, *rest: Any, **options: Any) -> Any:
        joined[f"{name} made"] = sum(len(part.values) for part in parts)
        found = join(parts, *rest, **options)
        joined[f"{name} kept"] = len(found.arrays()["gaps"])
        return found

    return noting


def run(folder: Path, stored: bool) -> None:
    """Run the command in `sys.argv`."""
    joined: dict[str, int] = {}
    fit = xmach.training.fit

    def fit_and_note(data: Any, config: Any, model: Any, *rest: Any, **options: Any) -> Any:
        fitted = fit(data, config, model if stored else None, *rest, **options)
        kept = [history[-1]["weights"] for history in fitted.history.values()]
        facts = {"buckets": round(sum(kept) / len(kept)), "values": data.features.nnz / data.n_rows}
        (folder / "facts.json").write_text(json.dumps(facts | joined | stored_entries(fitted)))
        if not stored:
            sys.exit()
        return fitted

    with ExitStack() as patches:
        patches.enter_context(patch.object(weighing, "_LEAST_GAIN", -1.0))
        patches.enter_context(patch.object(ranking, "COSTS", (HIGHEST_COST,)))
        patches.enter_context(patch.object(xmach.training, "fit", fit_and_note))
        for kind in (Profiles, LabelWeights):
            join = staticmethod(counted(kind.join, kind.__name__, joined))
            patches.enter_context(patch.object(kind, "join", join))
        main()


def stored_entries(fitted: Fitted) -> dict[str, int]:
    """The entries of parts that are made once; profiles of texts are made in the same way as those of rows."""
    assert fitted.predictor is not None
    second = fitted.predictor.ranking
    assert second is not None
    return {
        "texts": 0 if second.texts is None else len(second.texts.arrays()["gaps"]),
        "ranker": 0 if second.ranker is None else len(second.ranker.gaps),
    }


if __name__ == "__main__":
    place, kept = sys.argv[1:3]
    del sys.argv[1:3]
    run(Path(place), kept == "True")
