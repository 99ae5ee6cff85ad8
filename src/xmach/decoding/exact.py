"""The full scan over all labels: K R additions a row."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from xmach._kernels.decode.index import Index, fill_signatures
from xmach._kernels.decode.scan import MEAN, finish_top_k, scan_means, scan_top_k, start_top_k
from xmach.types import AnyArray, BoolArray, FloatArray, IntArray

_BLOCK = 1 << 16  # stored signatures scanned at a time
_CHUNK = 1 << 14  # labels whose signatures are computed at a time, where none are stored


class Seen(NamedTuple):
    """Which labels had a training row."""

    mask: BoolArray  # (K,), or empty: all
    n_labels: int  # how many; with an empty mask, more than there are

    @classmethod
    def of(cls, seen: BoolArray | None) -> Seen:
        """From a mask, or None for all."""
        every = cls(np.zeros(0, np.bool_), 2**31)
        if seen is None:
            return every
        count = int(np.count_nonzero(seen))
        return every if count == len(seen) else cls(np.asarray(seen, np.bool_), count)


def scan(cells: FloatArray, index: Index, seen: Seen, merge: int, k: int) -> tuple[FloatArray, IntArray]:
    """Scores and ids (n, k) of the best labels: seen ones first, then, where they are fewer than k, the others."""
    scores = np.empty((len(cells), k), np.float32)
    ids = np.empty((len(cells), k), np.int64)
    n_first = min(k, seen.n_labels)
    for wanted, part in ((True, slice(0, n_first)), (False, slice(n_first, k))):
        if part.stop > part.start:
            part_scores, part_ids = np.empty_like(scores[:, part]), np.empty_like(ids[:, part])
            start_top_k(part_scores, part_ids)
            for start, signatures in signature_blocks(index):
                where = (cells, signatures, start, seen.mask, wanted)
                if merge == MEAN:
                    scan_means(*where, part_scores, part_ids)
                else:
                    scan_top_k(*where, merge, part_scores, part_ids)
            finish_top_k(part_scores, part_ids)
            scores[:, part], ids[:, part] = part_scores, part_ids
    return scores, ids


def signature_blocks(index: Index) -> Iterator[tuple[int, AnyArray]]:
    """(first label, signatures of it and those that follow): the stored table, or computed a few at a time."""
    if len(index.signatures):
        for start in range(0, index.n_labels, _BLOCK):  # all rows take their turn while the block is in the cache
            yield start, index.signatures[start : start + _BLOCK]
        return
    buffer = np.empty((min(_CHUNK, index.n_labels), len(index.a)), index.signatures.dtype)
    for start in range(0, index.n_labels, _CHUNK):
        block = buffer[: min(_CHUNK, index.n_labels - start)]
        fill_signatures(index, start, block)
        yield start, block
