"""What is wanted to query texts, as bytes: parts are chosen and put in order, words dropped, run together and mistyped.

Every decision takes the next number of its row of chances, whether the kernel or its twin makes it.
"""

from __future__ import annotations

from typing import Any, NamedTuple, TypeAlias

import numpy as np

from xmach._kernels._compile import kernel
from xmach.types import AnyArray, BoolArray, DoubleArray, IntArray

N_CHANCES = 19  # numbers in [0, 1) that wording one query takes at most
LONGEST = 512  # bytes of a text at most: eight parts and an extra, of 40 bytes at most

TYPE, BRAND, SERIES, MODEL, VALUES = range(5)  # columns of what a query mentions; VALUES and on: one an attribute
_MOST_WORDS = 64
_A, _Z, _SPACE, _ZERO = ord("a"), ord("z"), ord(" "), ord("0")
_BRAND_PART, _MODEL_PART = -1, -2  # parts that are not a form of the vocabulary

Position: TypeAlias = Any  # np.int64, as kernels have them


class Vocabulary(NamedTuple):
    """Every form in one row of bytes, and where those of each thing begin."""

    data: AnyArray  # (bytes,) uint8
    ends: IntArray  # (forms + 1,) form f is data[ends[f]:ends[f + 1]]
    names: IntArray  # (types + 1,) the first form of each type's names
    other_number: IntArray  # (forms,) the form of a name in the plural, where it is a singular, and the other way round
    values: IntArray  # (values + 1,) the first form of each value
    series: int  # the first form of all series
    extras: int  # the first of all words that say nothing
    n_extras: int
    brand_parts: IntArray  # (parts + 1,) the first form of each part of a brand's name
    neighbours: AnyArray  # (256,) uint8, the key beside each letter


class Wanted(NamedTuple):
    """What users have in mind, one entry a query."""

    type: IntArray
    brand: IntArray  # a number whose digits, mixed radix, are the parts of the name
    series: IntArray
    model: IntArray
    values: IntArray  # (n, attributes)


class _Line(NamedTuple):
    """Room for one query."""

    parts: IntArray
    data: AnyArray  # its words one after the other
    starts: IntArray  # of the words
    stops: IntArray


def word_texts(
    words: Vocabulary, wanted: Wanted, mentioned: BoolArray, chances: DoubleArray, typos: float
) -> tuple[AnyArray, IntArray]:
    """The bytes of one text after the other, and where each ends."""
    n = len(mentioned)
    data, ends = np.empty(n * LONGEST, np.uint8), np.empty(n, np.int64)
    line = _Line(np.empty(16, np.int64), np.empty(LONGEST, np.uint8), *np.empty((2, _MOST_WORDS), np.int64))
    size = _word_rows(words, wanted, mentioned, chances, float(typos), line, data, ends)
    return data[:size].copy(), ends


@kernel
def _word_rows(
    words: Vocabulary,
    wanted: Wanted,
    mentioned: BoolArray,
    chances: DoubleArray,
    typos: float,
    line: _Line,
    data: AnyArray,
    ends: IntArray,
) -> Position:
    at = np.int64(0)
    for row in range(len(ends)):
        chance = chances[row]
        n_parts, used = _choose(words, wanted, row, mentioned[row], chance, line.parts)
        n_words = _spell(words, wanted.brand[row], wanted.model[row], n_parts, line)
        at = _write(words, chance, used, typos, n_words, line, data, at)
        ends[row] = at
    return at


@kernel
def _choose(
    words: Vocabulary, wanted: Wanted, row: int, said: BoolArray, chance: DoubleArray, parts: IntArray
) -> tuple[Position, Position]:
    """Put the parts of a text in order; how many they are, and how many chances are used."""
    used, name, n_maker, n_values = np.int64(0), np.int64(-1), np.int64(0), np.int64(0)
    maker, described = parts[10:13], np.empty(8, np.int64)
    for column, part in ((BRAND, _BRAND_PART), (SERIES, words.series + wanted.series[row]), (MODEL, _MODEL_PART)):
        if said[column]:
            maker[n_maker] = part
            n_maker += 1
    if said[TYPE]:
        name = _form(words.names, wanted.type[row], chance[0])
        if chance[1] < 0.15:
            name = words.other_number[name]
        used += 2
    for column in range(wanted.values.shape[1]):
        if said[VALUES + column]:
            described[n_values] = _form(words.values, wanted.values[row, column], chance[used])
            n_values, used = n_values + 1, used + 1
    if chance[used] < 0.3:
        for i in range(n_values // 2):
            described[i], described[n_values - 1 - i] = described[n_values - 1 - i], described[i]
    order = chance[used + 1]
    n = np.int64(0)
    for group in _order(order):
        if group == 0:
            n = _append(parts, n, maker, n_maker)
        elif group == 1:
            parts[n] = name
            n += name >= 0
        else:
            n = _append(parts, n, described, n_values)
    return _add_extra(words, chance, used + 2, parts, n)


@kernel
def _append(parts: IntArray, n: Position, more: IntArray, count: Position) -> Position:
    for i in range(count):
        parts[n + i] = more[i]
    return n + count


@kernel
def _order(chance: float) -> tuple[int, int, int]:
    """Maker (0), name (1) and description (2) in one of the usual orders."""
    if chance < 0.5:
        return 0, 1, 2
    if chance < 0.75:
        return 2, 0, 1
    if chance < 0.9:
        return 0, 2, 1
    return 1, 0, 2


@kernel
def _add_extra(
    words: Vocabulary, chance: DoubleArray, used: Position, parts: IntArray, n: Position
) -> tuple[Position, Position]:
    """Perhaps words that say nothing, at one end."""
    if chance[used] >= 0.06:
        return n, used + 1
    extra: Position = min(np.int64(chance[used + 2] * words.n_extras), words.n_extras - 1)
    place = np.int64(chance[used + 1] * 2) * n
    if place == 0:
        for i in range(n, 0, -1):
            parts[i] = parts[i - 1]
    parts[place] = words.extras + extra
    return n + 1, used + 3


@kernel
def _form(firsts: IntArray, which: Position, chance: float) -> Position:
    """The title's own form in 55% of cases, otherwise one of the others."""
    first, others = firsts[which], firsts[which + 1] - firsts[which] - 1
    if chance < 0.55 or others == 0:
        return first
    return first + 1 + min(np.int64((chance - 0.55) / 0.45 * others), others - 1)


@kernel
def _spell(words: Vocabulary, brand: Position, model: Position, n_parts: Position, line: _Line) -> Position:
    """Write the parts into the line, word by word; how many words they are."""
    n, at = np.int64(0), np.int64(0)
    for part in line.parts[:n_parts]:
        line.starts[n] = at
        if part == _BRAND_PART:
            for i in range(len(words.brand_parts) - 1):
                count = words.brand_parts[i + 1] - words.brand_parts[i]
                form = words.brand_parts[i] + brand % count
                brand //= count
                for byte in words.data[words.ends[form] : words.ends[form + 1]]:
                    line.data[at] = byte
                    at += 1
        elif part == _MODEL_PART:
            size = np.int64(1)
            while 10**size <= model:
                size += 1
            for i in range(size):
                line.data[at + size - 1 - i] = _ZERO + model // 10**i % 10
            at += size
        else:
            for byte in words.data[words.ends[part] : words.ends[part + 1]]:
                if byte == _SPACE:
                    line.stops[n] = at
                    n += 1
                    line.starts[n] = at
                else:
                    line.data[at] = byte
                    at += 1
        line.stops[n] = at
        n += 1
    return n


@kernel
def _write(
    words: Vocabulary,
    chance: DoubleArray,
    used: Position,
    typos: float,
    n: Position,
    line: _Line,
    data: AnyArray,
    at: Position,
) -> Position:
    """Write the words as they are typed: perhaps one is missing, two are one, one is wrong; where the text ends."""
    starts, stops = line.starts, line.stops
    if n > 2:
        if chance[used] < 0.06:
            dropped = np.int64(chance[used + 1] * n)
            for i in range(dropped, n - 1):
                starts[i], stops[i] = starts[i + 1], stops[i + 1]
            n, used = n - 1, used + 1
        used += 1
    joined = np.int64(-1)
    if n > 1:
        if chance[used] < 0.03:
            joined, used = np.int64(chance[used + 1] * (n - 1)), used + 1
        used += 1
    wrong = np.int64(-1)
    if chance[used] < typos:
        wrong = np.int64(chance[used + 1] * (n - (joined >= 0)))
    word = begin = np.int64(0)
    for i in range(n):
        begin = at if joined < 0 or i != joined + 1 else begin
        for byte in line.data[starts[i] : stops[i]]:
            data[at] = byte
            at += 1
        if i != joined:  # a word is whole
            if word == wrong:
                at = mistype(data, begin, at, chance[used + 2], chance[used + 3], words.neighbours)
            data[at] = _SPACE
            word, at = word + 1, at + 1
    return at - 1


@kernel
def mistype(data: AnyArray, begin: Position, end: Position, how: float, where: float, neighbours: AnyArray) -> Position:
    """Make one mistake in a word of four letters or more: swap, drop or double one, or hit the key beside it."""
    size = end - begin
    letters = size >= 4
    for i in range(begin, end):
        letters &= _A <= data[i] <= _Z
    if not letters:
        return end
    at = begin + 1 + np.int64(where * (size - 2))  # the first letter is hardly ever wrong
    if how < 0.25:
        data[at], data[at + 1] = data[at + 1], data[at]
    elif how < 0.5:
        for i in range(at, end - 1):
            data[i] = data[i + 1]
        return end - 1
    elif how < 0.75:
        for i in range(end, at, -1):
            data[i] = data[i - 1]
        return end + 1
    else:
        data[at] = neighbours[data[at]]
    return end
