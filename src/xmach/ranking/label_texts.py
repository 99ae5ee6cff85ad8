"""Texts of labels as profiles, weighed as in BM25: what counts is which features a text has, not how often.

The row that is compared carries the weights of the scaling (tf-idf). In the text of a label, a feature counts 1 or what
`term_weights` has learned for it, so that its rarity counts once and not twice. A long text loses little: with the
number of its features n, values fall as n^-0.2, where a cosine has n^-0.5.
"""

from __future__ import annotations

import numpy as np

from xmach._kernels.rank.term_weights import Examples, Texts, learn_term_weights
from xmach.block_sizes import TERM_CANDIDATES
from xmach.models.bucket_weights import BucketWeights
from xmach.models.linear_arrays import read_only
from xmach.ranking.label_rows import LabelRows
from xmach.ranking.profiles import Profiles, profile_part
from xmach.ranking.shortlist import Shortlist
from xmach.types import DoubleArray, FloatArray, IntArray, SparseRows, row_batches

LENGTH_POWER = 0.2
_USUAL_LENGTH = 64  # a text with this many features has the values of a cosine
_SHARPNESS, _RATE, _PASSES = 20.0, 0.05, 3
_FIRST_SQUARE = 0.01  # AdaGrad's: the first steps are small
_LEAST, _MOST = 0.1, 4.0  # of a learned weight
_ROWS = 4096  # whose candidates are found at a time


def text_part(ids: IntArray, rows: SparseRows, n_labels: int) -> BucketWeights:
    """Return the features of the texts of all labels; `rows` are those of the labels `ids`, scaled.

    A long text keeps those with the largest values. All values are 1.
    """
    starts = np.zeros(n_labels + 1, np.int64)
    starts[ids + 1] = 1
    lists = LabelRows(0, np.cumsum(starts), np.arange(len(ids), dtype=np.int32), np.ones(len(ids), np.float32))
    part = profile_part(rows, lists, energy=1.0)
    return part._replace(values=np.ones_like(part.values))


def text_profiles(part: BucketWeights, n_features: int, weights: FloatArray | None = None) -> Profiles:
    """Return the profiles of texts. `weights` (d,): what each feature counts; None: 1.

    For weights of 1, `search` returns cosines times (n / 64)^0.3, n the number of features of the text.
    """
    if weights is not None:
        part = part._replace(values=weights[part.features])
    profiles = Profiles.join([part], n_features, len(part.biases))
    squares = np.append(0.0, np.cumsum(part.values.astype(np.float64) ** 2))
    lengths = np.sqrt(squares[part.starts[1:]] - squares[part.starts[:-1]])  # (K,) that `join` scaled to 1
    arrays = profiles.arrays()
    scales = arrays["scales"] * lengths * _factors(part)
    return Profiles.from_arrays(arrays | {"scales": scales.astype(np.float32)})


def _factors(part: BucketWeights) -> DoubleArray:
    """What the scores of each text (K,) are multiplied by."""
    n = np.maximum(np.diff(part.starts), 1).astype(np.float64)
    factors: DoubleArray = n**-LENGTH_POWER * _USUAL_LENGTH ** (LENGTH_POWER - 0.5)
    return factors


def term_weights(part: BucketWeights, rows: SparseRows, labels: SparseRows) -> FloatArray:
    """Learn what each feature (d,) counts in texts, so that the labels (n, K) of scaled rows beat other near texts.

    Rows are learned from in their order. Features that no row has count 1.
    """
    d = rows.n_columns
    examples = _examples(text_profiles(part, d), rows, labels)
    texts = Texts(read_only(part.starts), read_only(part.features), read_only(_factors(part).astype(np.float32)))
    weights, squares, products, slopes = np.ones(d), np.full(d, _FIRST_SQUARE), np.zeros(d), np.zeros(d)
    errors = np.empty(int(np.diff(examples.indptr).max(initial=1)))
    steps = np.arange(rows.n_rows)
    for _ in range(_PASSES):
        learn_term_weights(examples, steps, texts, _SHARPNESS, _RATE, weights, squares, products, slopes, errors)
    return np.clip(weights, _LEAST, _MOST).astype(np.float32)


def _examples(profiles: Profiles, rows: SparseRows, labels: SparseRows) -> Examples:
    """The rows with their candidates."""
    present, nothing = profiles.present(), np.zeros(0, np.int64)
    lengths, ids, right = [nothing], [nothing], [nothing.astype(np.bool_)]
    for start, stop in row_batches(rows.n_rows, _ROWS):
        own, none = labels.slice(start, stop), np.zeros(stop - start + 1, np.int64)
        nearest = profiles.search(rows.slice(start, stop), none, nothing, TERM_CANDIDATES).ids
        mine = Shortlist(own.indptr - own.indptr[0], own.indices.astype(np.int64)).table(own.indices, -1)
        shortlist = Shortlist.of([nearest, np.where((mine >= 0) & present[mine], mine, -1)])
        lengths.append(np.diff(shortlist.indptr))
        ids.append(shortlist.ids)
        right.append(shortlist.are_labels(own))
    indptr = np.append(0, np.cumsum(np.concatenate(lengths)))
    starts, features, values = (read_only(array) for array in (rows.indptr, rows.indices, rows.values))
    return Examples(starts, features, values, indptr, np.concatenate(ids), np.concatenate(right))
