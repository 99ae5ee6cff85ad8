"""The table of the tagging contest, from the rounds of each contestant."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import mean
from typing import Any

from benchmarks.contest import Spread, figures
from benchmarks.places import table
from xmach.metrics import GROUPS
from xmach.planning import human_bytes

Row = dict[str, Any]
QUALITY = {  # columns of the table
    "P@1": ["precision@1"],
    "P@3": ["precision@3"],
    "P@5": ["precision@5"],
    "recall@100": ["recall@100"],
    "head / torso / tail": [f"recall@100 {group}" for group in GROUPS],
    "PSP@1 / 3 / 5": [f"psp@{k}" for k in (1, 3, 5)],
}
_NAMES = [name for names in QUALITY.values() for name in names]
_TRAINING = ("train: prepare", "train: train", "train: save")
_PREDICTING = ("predict: open", "predict: predict")
_SIZES = {"on disk": "bytes", "memory, training": "training memory", "memory, predicting": "predicting memory"}


def summary(rounds: Sequence[Row]) -> Row:
    """Join the rounds of a contestant: the mean quality, the spread of its seconds, the largest sizes.

    If a round has failed, so has the contestant.
    """
    failed = [each for each in rounds if "failed" in each]
    if failed:
        return {name: failed[0][name] for name in ("failed", "while") if name in failed[0]}
    return {
        "quality": {name: mean(each["quality"][name] for each in rounds) for name in _NAMES},
        "training seconds": {kind: _spread(rounds, _TRAINING, kind) for kind in ("cpu", "wall")},
        "predicting seconds": {kind: _spread(rounds, _PREDICTING, kind) for kind in ("cpu", "wall")},
        **{name: max(each[name] for each in rounds) for name in _SIZES.values()},
    }


def result_table(rows: Sequence[Row]) -> str:
    """Format rows as Markdown: quality in %, seconds of the processor (of the clock in the JSON file), sizes."""
    header = ["contestant", *QUALITY, "training, CPU s", "predicting, CPU s", *_SIZES]
    return table(header, [_cells(row, len(header)) for row in rows])


def _cells(row: Row, width: int) -> list[str]:
    if "failed" in row:
        return [row["contestant"], row["failed"], *["-"] * (width - 2)]
    quality = [_percent([row["quality"][name] for name in names]) for names in QUALITY.values()]
    seconds = [_shown(row[f"{part} seconds"]["cpu"]) for part in ("training", "predicting")]
    return [row["contestant"], *quality, *seconds, *(human_bytes(row[name]) for name in _SIZES.values())]


def _percent(shares: Sequence[float]) -> str:
    """Two digits of a single figure, one of several."""
    return " / ".join(f"{100 * share:.{2 if len(shares) == 1 else 1}f}" for share in shares)


def _spread(rounds: Sequence[Row], parts: Sequence[str], kind: str) -> dict[str, float]:
    return Spread.of([sum(each["seconds"][part][kind] for part in parts) for each in rounds])._asdict()


def _shown(seconds: dict[str, float]) -> str:
    spread = Spread(**seconds)
    return figures(spread.median) if spread.low == spread.high else str(spread)
