"""Trains one sparse linear classifier per label: its rows against the rows that wrongly shortlist it.

Labels do not depend on each other, so a shard is a range of them: it can be trained anywhere, and its weights have the
same bits however the labels were divided.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

import numpy as np

from xmach._kernels.rank.descent import CsrRows, Kept, Problem, RowLists, Scratch, train_labels_from
from xmach.errors import Diverged, InputError
from xmach.models.bucket_weights import BucketWeights
from xmach.models.linear_arrays import read_only
from xmach.parameters import real, whole
from xmach.ranking.label_rows import LabelRows
from xmach.types import SparseRows

_FIRST_CAPACITY = 1 << 16  # weights for which there is space at first


@dataclass(frozen=True)
class RankerSettings:
    """How the classifiers of the ranker are trained."""

    cost: float = 1.0  # C: the weight of a row's loss against the regularisation
    passes: int = 20  # at most
    epsilon: float = 0.1  # a label is done if its projected gradients differ by at most this
    prune_below: float = 0.1  # weights below this are dropped

    def __post_init__(self) -> None:
        real("cost", self.cost, 0.0, inf, with_low=False)
        whole("passes", self.passes, 1)
        real("epsilon", self.epsilon, 0.0, inf, with_low=True)
        real("prune_below", self.prune_below, 0.0, inf, with_low=True)


def train_labels(
    rows: SparseRows, positives: LabelRows, negatives: LabelRows, settings: RankerSettings, seed: int
) -> BucketWeights:
    """Return the pruned weights of the labels of `positives`; `negatives` must list the same labels.

    The cost of a row is `settings.cost` times its weight. A row without weight is left out, and so is a negative row
    that is also a positive one. A label without positive rows has no weights and the bias -1. A label without negative
    rows is trained on its positive rows alone.

    The rows must already be scaled: cost, epsilon and `prune_below` are meant for rows whose norm is about 1 (0.1 to
    10). Other rows should be divided by a power of two, as in `learners/linear.py`, and the weights by the same number.

    Memory beyond the arguments and the result: 12 bytes a feature and 40 bytes a row of the label with the most rows.
    Raises InputError if rows do not exist, and Diverged if a weight is not finite.
    """
    _check(positives, negatives, rows.n_rows)
    n_labels = len(positives.starts) - 1
    most = int(max((np.diff(positives.starts) + np.diff(negatives.starts)).max(initial=0), 1))
    signs, ridges, norms, duals = (np.empty(most, np.float64) for _ in range(4))
    problem = Problem(np.empty(most, np.int32), signs, ridges, norms, duals, np.empty(most, np.int32))
    d = rows.n_columns
    scratch = Scratch(np.zeros(d, np.float32), np.empty(d, np.float32), np.empty(d, np.int32))
    matrix = CsrRows(read_only(rows.indptr), read_only(rows.indices), read_only(rows.values))
    numbers_of = (float(settings.cost), int(settings.passes), float(settings.epsilon), float(settings.prune_below))
    out, done = _space(n_labels, _FIRST_CAPACITY), 0
    while True:
        done = train_labels_from(
            done, positives.first, matrix, _lists(positives), _lists(negatives), numbers_of, np.uint64(seed), problem,
            scratch, out,
        )  # fmt: skip
        if done == n_labels:
            break
        out = _with_more_space(out)
    return _result(positives.first, out)


def _space(n_labels: int, capacity: int) -> Kept:
    """Space for the weights of labels."""
    biases = np.empty(n_labels, np.float32)
    return Kept(np.zeros(n_labels + 1, np.int64), np.empty(capacity, np.int32), np.empty(capacity, np.float32), biases)


def _with_more_space(out: Kept) -> Kept:
    """The same with twice the space."""
    space = _space(0, 2 * len(out.features))
    for array, wider in ((out.features, space.features), (out.values, space.values)):
        wider[: len(array)] = array  # the rest is not touched, so it takes no memory yet
    return out._replace(features=space.features, values=space.values)


def _result(first: int, out: Kept) -> BucketWeights:
    """The trained weights, without the space that was left."""
    n_weights = int(out.starts[-1])
    features, values = out.features[:n_weights].copy(), out.values[:n_weights].copy()
    wrong = ~np.isfinite(out.biases)  # a step that is not finite changes the bias, too
    if wrong.any():
        label = first + int(np.argmax(wrong))
        raise Diverged(f"the ranker's weights of label {label} are not finite; scale the features (scaling='l2')")
    return BucketWeights(first, out.starts, features, values, out.biases)


def _lists(rows: LabelRows) -> RowLists:
    """The arrays of the rows of labels, as the kernel takes them."""
    return RowLists(read_only(rows.starts), read_only(rows.rows), read_only(rows.weights))


def _check(positives: LabelRows, negatives: LabelRows, n_rows: int) -> None:
    """Raise InputError unless both list rows that exist, for the same labels, in rising order."""
    spans = [(lists.first, len(lists.starts) - 1) for lists in (positives, negatives)]
    if spans[0] != spans[1]:
        texts = [f"{count} labels from {first} on" for first, count in spans]
        raise InputError(f"the positive rows are of {texts[0]}, the negative ones of {texts[1]}")
    for name, lists in (("positive", positives), ("negative", negatives)):
        starts, rows = lists.starts, lists.rows
        if len(starts) < 1 or starts[0] != 0 or (starts[1:] < starts[:-1]).any() or starts[-1] != len(rows):
            raise InputError(f"the starts of the {name} rows do not rise from 0 to {len(rows)}")
        if lists.weighted and len(lists.weights) != len(rows):
            raise InputError(f"there are {len(rows)} {name} rows, but {len(lists.weights)} weights")
        if len(rows) and not 0 <= rows.min() <= rows.max() < n_rows:
            raise InputError(f"the {name} rows are not all among the {n_rows} rows")
        falls = rows[1:] < rows[:-1]
        falls[starts[1:-1][(starts[1:-1] > 0) & (starts[1:-1] < len(rows))] - 1] = False  # the next label begins
        if falls.any():
            raise InputError(f"the {name} rows of a label are not in rising order")
