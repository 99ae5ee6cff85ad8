"""Rows to choose the ranker's settings on, if no validation rows are given.

The weights of the parts must be fitted on rows that none of the parts was trained on. With few rows, a trial model is
trained without some of them, decides, and is thrown away; the model itself then has all rows. With many rows, training
twice would cost more than the few held-out rows are worth: they are left out of the model, too.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from xmach.block_sizes import HELD_OUT_SHARE, MOST_HELD_OUT
from xmach.data import Dataset
from xmach.learners import stream
from xmach.types import IntArray

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
