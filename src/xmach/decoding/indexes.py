"""The index that a decoder begins with: tables in memory, or everything computed from the hash."""

from __future__ import annotations

import numpy as np

from xmach.block_sizes import SCANNED_LABELS, STORED_TABLE_BYTES
from xmach.buckets import Buckets, Index, UniversalHashes, as_signatures, computed, fill_tables, new_tables, stored
from xmach.errors import ParameterError
from xmach.planning import available_bytes, inverted_index_bytes, signature_bytes, usable_cores
from xmach.types import AnyArray

INDEXES = ("stored", "computed")


def check_index(index: str | Index) -> None:
    """Raise `ParameterError` if an index is not known by this name."""
    if not isinstance(index, Index) and index not in ("auto", *INDEXES):
        raise ParameterError(f"index must be one of auto, {', '.join(INDEXES)}, got {index!r}")


def first_index(hashes: Buckets | AnyArray, index: str | Index, search: str) -> Index:
    """The index to begin with; posting lists of a table of buckets are made when first searched."""
    if isinstance(index, Index):
        return index
    if not isinstance(hashes, UniversalHashes):
        table = as_signatures(hashes)
        nothing = np.zeros(table.shape[1], np.int64)
        lists = np.empty((table.shape[1], 0), np.int64), np.empty((table.shape[1], 0), np.int32)
        return Index(len(table), int(table.max()) + 1, 0, nothing, nothing, nothing, table, *lists)
    if index == "auto":
        key = (hashes.n_labels, hashes.n_buckets, hashes.n_repetitions)
        size = signature_bytes(*key) + inverted_index_bytes(*key)
        index = "stored" if size <= min(STORED_TABLE_BYTES, available_bytes() // 4) else "computed"
    if index == "computed":
        return computed(hashes)
    if search in ("auto", "exact") and hashes.n_labels <= SCANNED_LABELS:  # never asked for a list
        return computed(hashes)._replace(signatures=hashes.signatures())
    tables = new_tables(hashes)
    fill_tables(hashes, tables, usable_cores())
    return stored(hashes, tables)
