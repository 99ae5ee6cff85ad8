"""Queries in users' words: synonyms, other orders, dropped words, plurals, run-together words and typing mistakes."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from itertools import accumulate, chain
from typing import NamedTuple

import numpy as np

from xmach.synthetic.catalogue import Facets, attribute_values
from xmach.synthetic.departments import product_types
from xmach.synthetic.kernels.wording import N_CHANCES, Vocabulary, Wanted, word_texts
from xmach.synthetic.names import BRAND_PARTS, brand_digits, series_names
from xmach.types import AnyArray, BoolArray, IntArray

_EXTRAS = ("best", "cheap", "new", "sale", "for sale", "gift", "with free delivery", "top rated", "good quality")

KEYBOARD = ("qwertyuiop", "asdfghjkl", "zxcvbnm")


class Forms(NamedTuple):
    """All forms of all names and values, of which a vocabulary is built."""

    names: Sequence[Sequence[str]]  # of each type
    other_number: dict[str, str]  # of each name
    values: Sequence[Sequence[str]]  # of each value
    series: Sequence[str]
    extras: Sequence[str]
    brand_parts: Sequence[Sequence[str]]


class Wording:
    """Writes searches in the words of users."""

    def __init__(self, typos: float) -> None:
        self._typos = typos

    def texts(self, facets: Facets, mentioned: BoolArray, rng: np.random.Generator) -> tuple[AnyArray, IntArray]:
        """Return the bytes (ASCII) of all query texts, concatenated, and where each ends."""
        wanted = Wanted(facets.type, brand_digits(facets.brand), facets.series, facets.model, facets.values)
        return word_texts(vocabulary(), wanted, mentioned, rng.random((len(mentioned), N_CHANCES)), self._typos)


@cache
def forms() -> Forms:
    """Return all forms of everything that a query may mention."""
    names = [each.names for each in product_types()]
    other_number = {name: _other_number(name) for name in chain.from_iterable(names)}
    values = [[form.lower() for form in each] for each in attribute_values()]
    return Forms(names, other_number, values, series_names(), _EXTRAS, BRAND_PARTS)


@cache
def vocabulary() -> Vocabulary:
    """Return the forms as bytes for the kernel."""
    every = forms()
    names = list(chain.from_iterable(every.names))
    others = [every.other_number[name] for name in names]
    groups: list[Sequence[str]] = [
        *every.names, *every.values, every.series, every.extras, *every.brand_parts, others,
    ]  # fmt: skip
    firsts = np.array([*accumulate((len(group) for group in groups), initial=0)], np.int64)  # (groups + 1,)
    encoded = [form.encode("ascii") for form in chain.from_iterable(groups)]
    types, values, parts = len(every.names), len(every.values), len(every.brand_parts)
    other_number = np.full(len(encoded), -1)
    other_number[: len(names)] = firsts[-2] + np.arange(len(names))
    series = types + values  # its place among the groups
    return Vocabulary(
        np.frombuffer(b"".join(encoded), np.uint8),
        np.array([*accumulate(map(len, encoded), initial=0)], np.int64),
        firsts[: types + 1],
        other_number,
        firsts[types : series + 1],
        int(firsts[series]),
        int(firsts[series + 1]),
        len(every.extras),
        firsts[series + 2 : series + 3 + parts],
        neighbours(),
    )


def neighbours() -> AnyArray:
    """Return the key to the left of each letter; for the first of a row, the key to the right."""
    result = np.zeros(256, np.uint8)
    for keys in KEYBOARD:
        for place, letter in enumerate(keys):
            result[ord(letter)] = ord(keys[place - 1 if place else 1])
    return result


def _other_number(name: str) -> str:
    """Return the plural of a singular name, or the singular of a plural one."""
    if name.endswith(("sses", "ches", "shes", "xes")):
        return name[:-2]
    if name.endswith("s") and not name.endswith("ss"):
        return name[:-1]
    return name + ("es" if name.endswith(("ss", "ch", "sh", "x")) else "s")
