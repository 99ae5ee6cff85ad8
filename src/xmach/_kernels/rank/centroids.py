"""Label profiles: the unit-length sum of a label's rows, with its largest entries only.

One dense array of d sums serves every label. A bit per feature, and a bit per 64 of them, say which sums a label has
touched, so that listing them by feature and clearing them takes time proportional to their number, without a sort.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from xmach._kernels._compile import float64, int64, kernel
from xmach._kernels.decode.heap import sift_down, sort_heap
from xmach.types import AnyArray, DoubleArray, FloatArray, Int32Array, IntArray

_ZERO, _ONE, _SIX, _TWELVE = np.uint64(0), np.uint64(1), np.uint64(6), np.uint64(12)
_LOW = np.uint64(63)
# Multiplied by a power of two, this number shows in its highest six bits which power it was.
_SEQUENCE, _SHIFT = np.uint64(0x03F79D71B4CB0A89), np.uint64(58)
_PLACES = np.argsort((_SEQUENCE << np.arange(64, dtype=np.uint64)) >> _SHIFT).astype(np.uint64)


class Sums(NamedTuple):
    """The working memory of a thread; all but the last three are zero between labels."""

    sums: DoubleArray  # (d,)
    words: AnyArray  # (d / 64,) uint64: bit f of the whole says whether feature f is touched
    blocks: AnyArray  # (d / 4096,) uint64: whether a word has any bit
    found: Int32Array  # (d,) the features at hand, ascending
    values: FloatArray  # (d,) and their values
    best_values: FloatArray  # (most,) the largest magnitudes
    best_features: IntArray  # (most,)


def make_sums(n_features: int, most: int) -> Sums:
    """Allocate working memory for `n_features` features, of which a profile keeps `most`."""
    most = min(most, n_features)
    return Sums(
        sums=np.zeros(n_features, np.float64),
        words=np.zeros(n_features // 64 + 1, np.uint64),
        blocks=np.zeros(n_features // 4096 + 1, np.uint64),
        found=np.empty(n_features, np.int32),
        values=np.empty(n_features, np.float32),
        best_values=np.empty(most, np.float32),
        best_features=np.empty(most, np.int64),
    )


@kernel
def _lowest(word: Any) -> Any:
    """The place of the lowest bit of a word that is not 0."""
    return _PLACES[((word & (~word + _ONE)) * _SEQUENCE) >> _SHIFT]


@kernel
def _add_rows(
    indptr: IntArray, indices: Int32Array, values: FloatArray, rows: Int32Array, weights: FloatArray, sums: Any
) -> None:
    """Add weight * row for some rows, in their order, and mark the features."""
    totals, words, blocks = sums.sums, sums.words, sums.blocks
    for i in range(len(rows)):
        weight = float64(weights[i])
        if weight == 0.0:
            continue
        for j in range(indptr[rows[i]], indptr[rows[i] + 1]):
            feature = np.uint64(indices[j])
            totals[feature] += weight * float64(values[j])
            words[feature >> _SIX] |= _ONE << (feature & _LOW)
            blocks[feature >> _TWELVE] |= _ONE << ((feature >> _SIX) & _LOW)


@kernel
def _list_features(words: AnyArray, blocks: AnyArray, found: Int32Array) -> int:
    """Write the marked features, ascending, and clear the marks; returns their number."""
    count = 0
    for b in range(len(blocks)):
        block = blocks[b]
        blocks[b] = _ZERO
        while block != _ZERO:
            place = (np.uint64(b) << _SIX) + _lowest(block)
            block &= block - _ONE
            word = words[place]
            words[place] = _ZERO
            while word != _ZERO:
                found[count] = (place << _SIX) + _lowest(word)
                word &= word - _ONE
                count += 1
    return count


@kernel
def _normalise(found: Int32Array, totals: DoubleArray, values: FloatArray) -> None:
    """values = the features' sums scaled to unit length; clears the sums."""
    square = 0.0
    for i in range(len(found)):
        square += totals[found[i]] * totals[found[i]]
    length = np.sqrt(square)
    for i in range(len(found)):
        values[i] = np.float32(totals[found[i]] / length) if length > 0.0 else np.float32(0.0)
        totals[found[i]] = 0.0


@kernel
def _largest(
    found: Int32Array, values: FloatArray, energy: float, best_values: FloatArray, best_features: IntArray
) -> int:
    """List the largest magnitudes, best first, until their squares sum to `energy` of all or the list is full.

    Returns their number. On a tie the smaller feature comes first. With an energy of 1 all but zeros are listed.
    """
    best_values[:] = -1.0
    best_features[:] = 2**31
    square = 0.0
    for i in range(len(found)):
        value = abs(values[i])
        square += float64(value) * float64(value)
        if value > best_values[0]:  # on a tie the smaller feature, which came first, stays
            sift_down(best_values, best_features, len(best_values), value, int64(found[i]))
    sort_heap(best_values, best_features)
    enough, reached = energy * square, 0.0
    for i in range(len(best_values)):
        if best_values[i] == np.float32(0.0) or (energy < 1.0 and reached >= enough):
            return i
        reached += float64(best_values[i]) * float64(best_values[i])
    return len(best_values)


@kernel
def _keep(
    found: Int32Array,
    values: FloatArray,
    last_value: np.float32,
    last_feature: int,
    place: int,
    out_features: Int32Array,
    out_values: FloatArray,
) -> int:
    """Write the entries up to the last of the largest ones, by feature, from `place` on; returns the place after."""
    for i in range(len(found)):
        value = abs(values[i])
        if value > last_value or (value == last_value and found[i] <= last_feature):
            out_features[place] = found[i]
            out_values[place] = values[i]
            place += 1
    return place


@kernel
def fill_profiles(
    indptr: IntArray,
    indices: Int32Array,
    values: FloatArray,
    label_starts: IntArray,
    label_rows: Int32Array,
    label_weights: FloatArray,
    energy: float,
    sums: Any,
    starts: IntArray,
    out_features: Int32Array,
    out_values: FloatArray,
) -> None:
    """Write the profiles of m labels, one after the other; label l has the entries starts[l]..starts[l + 1].

    `sums` are those of `make_sums`; the outputs have room for every label's entries. Sums are float64, added in the
    order of rows, so that a label's profile does not depend on its neighbours.
    """
    starts[0] = 0
    for label in range(len(label_starts) - 1):
        which = slice(label_starts[label], label_starts[label + 1])
        _add_rows(indptr, indices, values, label_rows[which], label_weights[which], sums)
        count = _list_features(sums.words, sums.blocks, sums.found)
        found, scaled = sums.found[:count], sums.values[:count]
        _normalise(found, sums.sums, scaled)
        size, place = min(count, len(sums.best_values)), starts[label]
        best_values, best_features = sums.best_values[:size], sums.best_features[:size]
        n_kept = _largest(found, scaled, energy, best_values, best_features)
        if n_kept > 0:
            last_value, last_feature = best_values[n_kept - 1], best_features[n_kept - 1]
            place = _keep(found, scaled, last_value, last_feature, place, out_features, out_values)
        starts[label + 1] = place
