"""Slow twins of the kernels in `xmach._kernels.parse.sparse_rows`: the same results from plain NumPy and Python."""

from __future__ import annotations

import re
from fractions import Fraction

import numpy as np

from xmach._kernels.parse.sparse_rows import _NUMBER, ANY_INTEGER, BARE, BARRED, PLAIN


def nearest_float32_slow(text: str) -> np.float32:
    """The twin of `_number`: of the float32 around a number the nearest, by fractions."""
    exact, guess = Fraction(text), np.float32(float(text))
    with np.errstate(over="ignore"):
        around = [np.nextafter(guess, np.float32(-np.inf)), guess, np.nextafter(guess, np.float32(np.inf))]
    finite = [number for number in around if np.isfinite(number)]
    return min(finite, key=lambda number: (abs(Fraction(float(number)) - exact), int(number.view(np.uint32)) & 1))


def parse_rows_slow(
    data: bytes, form: int, n_features: int, n_labels: int
) -> list[tuple[list[int], list[int], list[np.float32]]]:
    """The twin of `parse_rows`: labels, features and values of each row up to the first odd one."""
    label = r"[+-]?[0-9]+(?:\.0*)?" if n_labels == ANY_INTEGER else "[0-9]+"
    labels = "" if form == BARE else rf"(?:{label}(?:,{label})*(?=[ \t]|$))?"
    feature = rf"[0-9]+(?::{_NUMBER})" + ("?" if form == BARRED else "")
    bar = r"[ \t]*\|(?=[ \t]|$)" if form == BARRED else ""
    whole = re.compile(rf"({labels}){bar}((?:(?:^|[ \t]+){feature})*)[ \t]*")
    rows = []
    for line in data.decode("latin-1").split("\n")[:-1]:
        content = line.partition("#")[0] if form == PLAIN else line
        match = whole.fullmatch(content.removesuffix("\r") if "#" not in line or form != PLAIN else content)
        if match is None or (form == PLAIN and not content.removesuffix("\r").strip(" \t")):
            break
        tokens = [token.partition(":") for token in match[2].split()]
        found = [int(token.partition(".")[0]) for token in match[1].split(",") if token]
        indices = [int(index) for index, _, _ in tokens]
        numbers = [value if colon else "1" for _, colon, value in tokens]
        too_large = n_labels != ANY_INTEGER and any(label >= n_labels for label in found)
        if too_large or any(index >= n_features for index in indices):
            break
        rows.append((found, indices, [nearest_float32_slow(number) for number in numbers]))
    return rows
