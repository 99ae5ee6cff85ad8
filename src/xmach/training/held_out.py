"""Rows to choose the ranker's settings on, if no validation rows are given.

The weights of the parts must be fitted on rows that none of the parts was trained on. With few rows, a trial model is
trained without some of them, decides, and is thrown away; the model itself then has all rows. With many rows, training
twice would cost more than the few held-out rows are worth: they are left out of the model, too.
"""

from __future__ import annotations

from dataclasses import replace
from logging import getLogger
from typing import NamedTuple

import numpy as np

from xmach.block_sizes import HELD_OUT_SHARE, MANY_ROWS, MOST_HELD_OUT
from xmach.config import AUTO, NONE, MachConfig
from xmach.data import Dataset
from xmach.learners import stream
from xmach.planning import Plan, decide
from xmach.training.job import facts_of
from xmach.types import IntArray

_log = getLogger(__name__)
_LEAST = 20  # with fewer held-out rows nothing is chosen


class Split(NamedTuple):
    """The numbers of the rows to train on and of those to choose on."""

    kept: IntArray
    held_out: IntArray


def split_rows(data: Dataset, seed: int, with_texts: bool = False) -> Split | None:
    """Draw the held-out rows; None if the rows are too few to hold some out.

    Rows none of whose labels has another row are kept: a model without that row cannot know the label, so the row would
    tell nothing about the weights. With texts of labels, it can.
    """
    n_held_out = min(MOST_HELD_OUT, data.n_rows // HELD_OUT_SHARE)
    least = 1 if with_texts else 2
    counts = data.label_counts().dense()
    known = np.append(0, np.cumsum(counts[data.labels.indices] >= least))[data.labels.indptr]
    useful = np.flatnonzero(np.diff(known))
    order = stream(seed, 0, "held out").permutation(len(useful))[:n_held_out]
    if len(order) < _LEAST:
        return None
    held_out = np.sort(useful[order])
    kept = np.ones(data.n_rows, np.bool_)
    kept[held_out] = False
    return Split(np.flatnonzero(kept), held_out)


def with_held_out_rows(
    data: Dataset, validation: Dataset | None, config: MachConfig, with_texts: bool, begun: Plan | None
) -> tuple[Dataset, Dataset | None]:
    """The rows to train on and to choose on: of many rows some are held out for the ranker, if it has no others."""
    if validation is not None or data.n_rows < MANY_ROWS:
        return data, validation
    if begun is not None and config.ranker == AUTO:  # an older version may have begun it without a ranker
        config = replace(config, ranker=begun.ranker)
    if decide(config, facts_of(data)).ranker == NONE:
        return data, validation
    split = split_rows(data, config.seed, with_texts)
    if split is None:
        return data, None
    _log.info(f"{len(split.held_out):,} rows are held out to choose settings on")
    kept, held_out = data.take(split.kept), data.take(split.held_out)
    data.let_go()
    return kept, held_out
