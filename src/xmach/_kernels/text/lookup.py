"""Keys of tokens to rows of columns, by a vocabulary: a known token has a slot, others share those that are reserved.

A slot's column is its number, hashed. The table has one entry of 64 bits a token, so that a look is one load: the upper
half of its key, and above 0 its column + 1. Two tokens are the same to it where the upper halves are and the lower ones
lead to nearby places: some 50 bits, of which it is wrong once in billions.
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
    """A vocabulary to look tokens up in, and where other tokens go: `unknown` slots from the `first_unknown` on."""

    table: AnyArray  # uint64, a power of two of them; 0 where free
    first_unknown: Any  # np.uint32, as the others
    unknown: Any  # 0: other tokens are left out
    modulus: Any  # columns, which take `shift` bits
    shift: int


def make_slots(keys: AnyArray, slots: IntArray, first_unknown: int, unknown: int, n_features: int) -> Slots:
    """The table of keys (uint64) with a slot each."""
    table = np.zeros(table_places(len(keys)), np.uint64)
    made = Slots(
        table, np.uint32(first_unknown), np.uint32(unknown), np.uint32(n_features), (n_features - 1).bit_length()
    )
    _fill(keys, slots, made)
    return made


def table_places(n_keys: int) -> int:
    """The places of a table of so many keys: at most half of them are taken."""
    return 1 << max(1, 2 * n_keys - 1).bit_length()


def known_rows(keys: AnyArray, key_ends: IntArray, slots: Slots) -> tuple[IntArray, Int32Array, FloatArray]:
    """Rows of counts: (n,) lengths, then columns (sorted within a row) and counts of one row after the other."""
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
    """How many columns all rows have together; rows are counted some at a time."""
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
    """The column of a token; all bits of 32 where it has none."""
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
    """Count keys of a kind from `start` on, until one would be the `most` + 1st of the table, which has `used`.

    Where it stopped, and how many the table has then. `known` and `counts` have a power of two of places, more than
    `most`; a place is free where the count is 0.
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
    """Put distinct keys with their counts into a table that has none of them, and room."""
    mask = np.uint64(len(counts) - 1)
    for i in range(len(keys)):
        place = keys[i] & mask
        while counts[place]:
            place = (place + _ONE) & mask
        known[place], counts[place] = keys[i], times[i]
