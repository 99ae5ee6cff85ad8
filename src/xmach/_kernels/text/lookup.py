"""Hash tables of token keys: a vocabulary that converts keys to columns, and counts for learning one.

A known token has a slot of its own; others share reserved slots. The column of a slot is its hashed number. A lookup is
one load, because an entry has 64 bits: the upper half of the key, and its column + 1. Two tokens are confused if their
upper halves are equal and their lower halves lead to nearby places: about 50 bits, so once in billions.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from xmach._kernels._compile import kernel
from xmach._kernels.text.hashing import KEYS
from xmach._kernels.text.murmur import murmur3_number
from xmach._kernels.text.tally import ZERO, Counted, tally
from xmach._kernels.text.tokens import KIND_SHIFT
from xmach.types import AnyArray, FloatArray, Int32Array, IntArray

_LOW, _HALF, _ONE = np.uint64(0xFFFFFFFF), np.uint64(32), np.uint64(1)
_KIND = np.uint64(KIND_SHIFT)


class Slots(NamedTuple):
    """The lookup table of a vocabulary, and the `unknown` slots of other tokens, from `first_unknown`."""

    table: AnyArray  # uint64, its length a power of two; 0: free
    first_unknown: Any  # np.uint32, like the next two
    unknown: Any  # 0: other tokens are dropped
    modulus: Any  # columns, which take `shift` bits
    shift: int


def make_slots(keys: AnyArray, slots: IntArray, first_unknown: int, unknown: int, n_features: int) -> Slots:
    """Build the table of keys (uint64), each with its slot."""
    table = np.zeros(table_places(len(keys)), np.uint64)
    made = Slots(
        table, np.uint32(first_unknown), np.uint32(unknown), np.uint32(n_features), (n_features - 1).bit_length()
    )
    _fill(keys, slots, made)
    return made


def table_places(n_keys: int) -> int:
    """Return the size of a table for `n_keys` keys: a power of two, at most half full."""
    return 1 << max(1, 2 * n_keys - 1).bit_length()


def known_rows(keys: AnyArray, key_ends: IntArray, slots: Slots) -> tuple[IntArray, Int32Array, FloatArray]:
    """Return rows of counts: lengths (n,), then the columns (sorted within a row) and counts of all rows."""
    longest = int(np.diff(key_ends, prepend=0).max(initial=0))
    room, spare = (np.empty(KEYS + longest, np.uint64) for _ in range(2))
    counted = Counted(np.zeros(len(key_ends), np.int64), np.empty(len(keys), np.int32), np.empty(len(keys), np.uint32))
    done = _look_up(keys, key_ends, slots, room, spare, counted)
    return counted.lengths, counted.columns[:done].copy(), counted.counts[:done].astype(np.float32)


@kernel
def _fill(keys: AnyArray, slots: IntArray, made: Slots) -> None:
    mask = np.uint64(len(made.table) - 1)
    for i in range(len(keys)):
        place = keys[i] & mask
        while made.table[place]:
            place = (place + _ONE) & mask
        column = murmur3_number(np.uint32(slots[i])) % made.modulus
        made.table[place] = (keys[i] >> _HALF) << _HALF | (np.uint64(column) + _ONE)


@kernel
def _look_up(
    keys: AnyArray, key_ends: IntArray, slots: Slots, room: AnyArray, spare: AnyArray, counted: Counted
) -> int:
    """Count the columns of all rows, several rows at a time; return the number of columns."""
    i = at = done = first_row = ZERO
    for row in range(len(key_ends)):
        base = np.uint64(row - first_row) << np.uint64(slots.shift)
        while i < key_ends[row]:
            column = _column(keys[i], slots)
            room[at] = base | column
            at += column != _LOW
            i += 1
        if at >= KEYS:
            done = tally(room, spare, at, slots.shift, first_row, counted, done)
            at, first_row = ZERO, row + 1
    return tally(room, spare, at, slots.shift, first_row, counted, done) if at else done


@kernel
def _column(key: Any, slots: Slots) -> Any:
    """Return the column of a token; _LOW if it has none."""
    mask = np.uint64(len(slots.table) - 1)
    place = key & mask
    entry = slots.table[place]
    while entry:
        if entry >> _HALF == key >> _HALF:
            return (entry & _LOW) - _ONE
        place = (place + _ONE) & mask
        entry = slots.table[place]
    if not slots.unknown:
        return _LOW
    slot = slots.first_unknown + np.uint32(key & _LOW) % slots.unknown
    return np.uint64(murmur3_number(np.uint32(slot)) % slots.modulus)


@kernel
def count_keys(
    keys: AnyArray, start: int, kind: int, known: AnyArray, counts: IntArray, used: int, most: int
) -> tuple[int, int]:
    """Count keys of a kind from position `start`, until a new one would not fit in `most`; `used` are in the table.

    Returns where it stopped, and how many keys the table has then. The length of `known` and `counts` is a power of
    two above `most`; a place with count 0 is free.
    """
    mask = np.uint64(len(counts) - 1)
    for i in range(start, len(keys)):
        key = keys[i]
        if key >> _KIND != np.uint64(kind):
            continue
        place = key & mask
        while counts[place] and known[place] != key:
            place = (place + _ONE) & mask
        if counts[place] == 0:
            if used >= most:
                return i, used
            known[place] = key
            used += 1
        counts[place] += 1
    return len(keys), used


@kernel
def insert_keys(keys: AnyArray, times: IntArray, known: AnyArray, counts: IntArray) -> None:
    """Insert distinct keys with their counts into a table that has none of them, and has room."""
    mask = np.uint64(len(counts) - 1)
    for i in range(len(keys)):
        place = keys[i] & mask
        while counts[place]:
            place = (place + _ONE) & mask
        known[place], counts[place] = keys[i], times[i]
