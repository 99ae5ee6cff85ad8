"""Warnings before training: settings that save or change nothing, and a ranker that will not be there."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Sequence

from xmach.buckets import clustered_repetitions
from xmach.config import AUTO, NONE, RANDOM, MachConfig
from xmach.data import Dataset, LabelTexts
from xmach.training.held_out import split_rows


def doubts(data: Dataset, config: MachConfig) -> list[str]:
    """What to say about settings that save or change nothing."""
    messages = []
    if config.n_buckets > data.n_labels:
        messages.append(
            f"n_buckets={config.n_buckets} is more than the {data.n_labels} labels: hashing saves nothing here"
        )
    if config.bucketing != RANDOM and not clustered_repetitions(config.bucketing, config.n_repetitions):
        messages.append(f"with one repetition, bucketing={config.bucketing!r} is random buckets")
    return messages


def doubts_about_ranker(
    data: Dataset, config: MachConfig, asked: str, validation: Dataset | None, label_text: LabelTexts | None
) -> list[str]:
    """What to say if there will be no ranker, but somebody asked for one or gave texts of labels."""
    if asked == NONE or (asked == AUTO and label_text is None):
        return []
    unused = "" if label_text is None else "; labels with a text join, but their texts are not used"
    if config.ranker == NONE:
        return [f"only linear buckets have a ranker by themselves{unused}; ask for one with ranker='linear'"]
    if validation is None and split_rows(data, config.seed, label_text is not None) is None:
        return [f"too few rows to hold some out for a ranker: the model has none{unused}; give validation rows"]
    return []


def warn(messages: Sequence[str]) -> None:
    """Warn; the warnings point at the caller's line outside xmach."""
    level, frame = 1, inspect.currentframe()
    while frame is not None and frame.f_globals.get("__name__", "").partition(".")[0] == "xmach":
        level, frame = level + 1, frame.f_back
    for message in messages:
        warnings.warn(message, UserWarning, stacklevel=level)
