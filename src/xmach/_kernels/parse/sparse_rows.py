"""Rows of text to arrays in one pass over the bytes; a row that is wrong or unusual ends it.

A value is read as the nearest float32 there is: an interval that surely holds the number is rounded at both ends, and
where the ends differ (a number in the middle between two float32, or all but there) the row counts as unusual.
"""

from __future__ import annotations

import numpy as np

from xmach._kernels._compile import kernel
from xmach.types import AnyArray, FloatArray, Int32Array, IntArray

PLAIN, BARE, BARRED = range(3)  # `3,4 1:0.5`; `1:0.5` where an empty line is a row; `3,4 | 1:0.5 2`
ANY_INTEGER = -1  # in place of a number of labels: any integer is a label, also written as 1.0 or +1

_NEWLINE, _RETURN, _HASH, _BAR = 10, 13, 35, 124
_TAB, _SPACE, _COLON, _COMMA = 9, 32, 58, 44
_PLUS, _MINUS, _POINT, _ZERO, _NINE = 43, 45, 46, 48, 57
_MOST_DIGITS = 18  # fit in 63 bits
_MOST_SCALE = 60
_POWERS = np.array([float(f"1e{k}") for k in range(_MOST_SCALE + 1)])
_MARGIN = 2.0**-50  # relative; mantissa, power and their product are each off by at most 2^-53


@kernel
def parse_rows(
    data: AnyArray,
    form: int,
    n_features: int,
    n_labels: int,
    row_ends: IntArray,
    label_counts: IntArray,
    labels: IntArray,
    feature_counts: IntArray,
    features: Int32Array,
    values: FloatArray,
) -> int:
    """The rows at the beginning of `data` (bytes that end with a newline), up to the first odd one; their number.

    Row r ends before byte `row_ends[r]`. Labels and features are as they come: perhaps unsorted, perhaps repeated.
    Every token takes two bytes or more, which bounds the arrays.
    """
    row = i = all_labels = all_features = 0
    while i < len(data):
        n = m = 0
        if form != BARE and data[i] != _SPACE and data[i] != _TAB and data[i] != _BAR:
            i, n = _labels(data, i, form, n_labels, labels, all_labels)
            if n < 0:
                break
        if form == BARRED:
            i = _after_blanks(data, i)
            if data[i] != _BAR or not _ends_token(data, i + 1, form):
                break
            i += 1
        i, m = _features(data, i, form, n_features, features, values, all_features)
        if m < 0 or (form == PLAIN and n + m == 0):  # nothing there: blank, or all comment
            break
        while data[i] != _NEWLINE:  # what follows is a comment or a carriage return
            i += 1
        i += 1
        row_ends[row], label_counts[row], feature_counts[row] = i, n, m
        all_labels, all_features, row = all_labels + n, all_features + m, row + 1
    return row


@kernel
def _labels(data: AnyArray, i: int, form: int, n_labels: int, labels: IntArray, at: int) -> tuple[int, int]:
    """Labels with commas between them: where they end and how many they are, -1 if odd."""
    begin, n = i, 0
    while True:
        negative = False
        if n_labels == ANY_INTEGER and (data[i] == _PLUS or data[i] == _MINUS):
            negative = data[i] == _MINUS
            i += 1
        first, label = i, np.int64(0)
        while _ZERO <= data[i] <= _NINE:
            label = label * 10 + (data[i] - _ZERO)
            i += 1
        if n == 0 and first == begin and i > first and data[i] == _COLON and form == PLAIN:
            return begin, 0  # a row without labels begins with its features
        if not 0 < i - first <= _MOST_DIGITS or (n_labels != ANY_INTEGER and label >= n_labels):
            return i, -1
        if n_labels == ANY_INTEGER and data[i] == _POINT:
            i += 1
            while data[i] == _ZERO:
                i += 1
        labels[at + n] = -label if negative else label
        n += 1
        if data[i] != _COMMA:
            return i, n if _ends_token(data, i, form) else -1
        i += 1


@kernel
def _features(
    data: AnyArray, i: int, form: int, n_features: int, features: Int32Array, values: FloatArray, at: int
) -> tuple[int, int]:
    """`index:value` up to the end of the row: where that is and how many they are, -1 if any is odd."""
    m = 0
    while True:
        i = _after_blanks(data, i)
        if _ends_row(data, i, form):
            return i, m
        first, index = i, np.int64(0)
        while _ZERO <= data[i] <= _NINE:
            index = index * 10 + (data[i] - _ZERO)
            i += 1
        if not 0 < i - first <= _MOST_DIGITS or index >= n_features:
            return i, -1
        value = np.float32(1.0)
        if data[i] == _COLON:
            i, value = _number(data, i + 1)
            if i < 0:
                return i, -1
        elif form != BARRED:
            return i, -1
        if not _ends_token(data, i, form):
            return i, -1
        features[at + m] = index
        values[at + m] = value
        m += 1


@kernel
def _number(data: AnyArray, i: int) -> tuple[int, np.float32]:
    """A decimal: where it ends, -1 if it is odd, and the nearest float32."""
    negative = data[i] == _MINUS
    if negative or data[i] == _PLUS:
        i += 1
    first = i
    while data[i] == _ZERO:
        i += 1
    begin, mantissa, scale = i, np.int64(0), 0
    while _ZERO <= data[i] <= _NINE:
        mantissa = mantissa * 10 + (data[i] - _ZERO)
        i += 1
    n_digits, any_digit = i - begin, i > first
    if data[i] == _POINT:
        i += 1
        point = begin = i
        if n_digits == 0:
            while data[i] == _ZERO:
                i += 1
            begin = i
        while _ZERO <= data[i] <= _NINE:
            mantissa = mantissa * 10 + (data[i] - _ZERO)
            i += 1
        n_digits, any_digit, scale = n_digits + i - begin, any_digit or i > point, point - i
    if data[i] == 101 or data[i] == 69:  # e, E
        i += 1
        below = data[i] == _MINUS
        if below or data[i] == _PLUS:
            i += 1
        begin, exponent = i, 0
        while _ZERO <= data[i] <= _NINE and i - begin < 4:
            exponent = exponent * 10 + (data[i] - _ZERO)
            i += 1
        any_digit, scale = any_digit and i > begin, scale + (-exponent if below else exponent)
    if not any_digit or n_digits > _MOST_DIGITS or not -_MOST_SCALE <= scale <= _MOST_SCALE:
        return -1, np.float32(0.0)
    near = float(mantissa) / _POWERS[-scale] if scale < 0 else float(mantissa) * _POWERS[scale]
    low, high = np.float32(near * (1.0 - _MARGIN)), np.float32(near * (1.0 + _MARGIN))
    if low != high or np.isinf(high):
        if scale != 0 or n_digits > 15:
            return -1, high
        high = np.float32(near)  # a whole number that a double holds: rounded once
    return i, -high if negative else high


@kernel
def _after_blanks(data: AnyArray, i: int) -> int:
    while data[i] == _SPACE or data[i] == _TAB:
        i += 1
    return i


@kernel
def _ends_row(data: AnyArray, i: int, form: int) -> bool:
    """Whether the content of a row ends here: newline, carriage return before it, or comment."""
    byte = data[i]
    return byte == _NEWLINE or (byte == _HASH and form == PLAIN) or (byte == _RETURN and data[i + 1] == _NEWLINE)


@kernel
def _ends_token(data: AnyArray, i: int, form: int) -> bool:
    return data[i] == _SPACE or data[i] == _TAB or _ends_row(data, i, form)


_NUMBER = r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?"
