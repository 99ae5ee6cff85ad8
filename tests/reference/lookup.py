"""Slow twins of the kernels in `xmach._kernels.text.lookup`: the same results from plain NumPy and Python."""

from __future__ import annotations

import numpy as np
from tests.reference.murmur import murmur3_slow
from tests.reference.tally import tally_slow

from xmach.types import IntArray


def known_rows_slow(
    key_rows: list[list[int]], slot_of: dict[int, int], first_unknown: int, unknown: int, n_features: int
) -> tuple[IntArray, IntArray, IntArray]:
    """The same of the keys of each row, token by token."""
    rows, columns = [], []
    for row, keys in enumerate(key_rows):
        for key in keys:
            if key not in slot_of and not unknown:
                continue
            slot = slot_of[key] if key in slot_of else first_unknown + (key & 0xFFFFFFFF) % unknown
            rows.append(row)
            columns.append(murmur3_slow(slot.to_bytes(4, "little")) % n_features)
    return tally_slow(np.array(rows, np.int64), np.array(columns, np.int64), len(key_rows))
