"""The paper's representative comparison: all products that were bought, and a sample of the others."""

from __future__ import annotations

import numpy as np

from xmach.errors import InputError
from xmach.metrics.labels import TrueLabels, label_pairs
from xmach.parameters import whole
from xmach.types import IntArray


def representative(purchased: TrueLabels, n_labels: int, size: int, seed: int = 0) -> IntArray:
    """(size,) label ids, ascending: every label that a row has, and as many of the others, drawn alike, as are missing.

    `n_labels` is the model's K: labels from K on, which it does not know, cannot be candidates. Same seed, same ids,
    on every platform and NumPy version. The paper took 1,000,000 of 49,460,000, of which 32,977 had been bought.
    """
    n_labels, seed = whole("n_labels", n_labels, 1), whole("seed", seed, 0, 2**64 - 1)
    kept = np.unique(label_pairs(purchased).ids)
    kept = kept[kept < n_labels]
    size = whole("size", size, 1, n_labels)
    if size < len(kept):
        raise InputError(f"size={size}, but {len(kept)} labels were purchased and all of them stay: make it larger")
    drawn = _sample(n_labels - len(kept), size - len(kept), seed)
    # the i-th label that was not bought: as many further as bought ones lie before it
    others = drawn + np.searchsorted(kept - np.arange(len(kept)), drawn, side="right")
    return np.sort(np.concatenate([kept, others]))


def _sample(n: int, size: int, seed: int) -> IntArray:
    """`size` of the numbers 0..n-1, each at most once, ascending."""
    if size > n // 2:  # those that are not drawn are fewer
        mask = np.ones(n, np.bool_)
        mask[_sample(n, n - size, seed)] = False
        return np.flatnonzero(mask)
    # Philox's raw bits are fixed by its definition; 'sample' in the high half of the key: apart from other streams
    bits = np.random.Philox(key=(int.from_bytes(b"sample", "big") << 64) | seed)
    numbers = np.zeros(0, np.int64)
    while True:
        distinct, first = np.unique(numbers, return_index=True)
        if len(distinct) >= size:  # those that came first
            return np.sort(distinct[np.argsort(first)[:size]])
        more = bits.random_raw(size - len(distinct) + 16)
        more = more[more <= np.uint64(2**64 - 1 - 2**64 % n)]  # up to there all of 0..n-1 are equally many
        numbers = np.append(numbers, (more % np.uint64(n)).astype(np.int64))
