"""Queries in users' words: synonyms, other orders, dropped words, plurals, run-together words and typing mistakes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

import numpy as np

from xmach.synthetic.catalogue import Facets, attribute_values
from xmach.synthetic.demand import BRAND, MODEL, SERIES, TYPE, VALUES
from xmach.synthetic.departments import product_types
from xmach.synthetic.names import brand_names, series_names
from xmach.types import BoolArray

_KEYBOARD = ("qwertyuiop", "asdfghjkl", "zxcvbnm")
_EXTRAS = ("best", "cheap", "new", "sale", "for sale", "gift", "with free delivery", "top rated", "good quality")
_N_CHANCES = 19  # numbers in [0, 1) that wording one query takes at most

_Wanted: TypeAlias = tuple[int, int, int, int, list[int]]  # one entry of Facets


class Wording:
    """Words searches as users do."""

    def __init__(self, typos: float) -> None:
        self._typos = typos
        self._names = [each.names for each in product_types()]
        self._values = [tuple(form.lower() for form in forms) for forms in attribute_values()]

    def texts(self, wanted: Facets, mentioned: BoolArray, rng: np.random.Generator) -> list[str]:
        """One query text each."""
        chances = rng.random((len(mentioned), _N_CHANCES)).tolist()
        brands = brand_names(wanted.brand)
        described = zip(*[column.tolist() for column in wanted], strict=True)
        return [
            self._text(facets, brands, said, iter(few))
            for facets, said, few in zip(described, mentioned.tolist(), chances, strict=True)
        ]

    def _text(self, wanted: _Wanted, brands: dict[int, str], mentioned: list[bool], chance: Iterator[float]) -> str:
        """One text; every `next(chance)` is one decision, _N_CHANCES of them at most."""
        kind, brand, series, model, values = wanted
        maker = [brands[brand].lower()] if mentioned[BRAND] else []
        if mentioned[SERIES]:
            maker.append(series_names()[series])
        if mentioned[MODEL]:
            maker.append(str(model))
        name = [_form(self._names[kind], next(chance))] if mentioned[TYPE] else []
        if name and next(chance) < 0.15:
            name = [_other_number(name[0])]
        described = [
            _form(self._values[v], next(chance)) for v, said in zip(values, mentioned[VALUES:], strict=True) if said
        ]
        if next(chance) < 0.3:
            described.reverse()
        parts = _order(maker, name, described, next(chance))
        if next(chance) < 0.06:
            parts.insert(int(next(chance) * 2) * len(parts), _pick(_EXTRAS, next(chance)))
        words = " ".join(parts).split()
        if len(words) > 2 and next(chance) < 0.06:
            del words[int(next(chance) * len(words))]
        if len(words) > 1 and next(chance) < 0.03:
            at = int(next(chance) * (len(words) - 1))
            words[at : at + 2] = [words[at] + words[at + 1]]
        if next(chance) < self._typos:
            at = int(next(chance) * len(words))
            words[at] = mistype(words[at], next(chance), next(chance))
        return " ".join(words)


def mistype(word: str, how: float, where: float) -> str:
    """A word of four letters or more with one mistake: letters swapped, dropped, doubled, or a neighbouring key."""
    if len(word) < 4 or not word.isalpha():
        return word
    at = 1 + int(where * (len(word) - 2))  # the first letter is hardly ever wrong
    if how < 0.25:
        return word[:at] + word[at + 1] + word[at] + word[at + 2 :]
    if how < 0.5:
        return word[:at] + word[at + 1 :]
    if how < 0.75:
        return word[:at] + word[at] + word[at:]
    row = next(keys for keys in _KEYBOARD if word[at] in keys)
    place = row.index(word[at])
    return word[:at] + row[place - 1 if place else 1] + word[at + 1 :]


def _order(maker: list[str], name: list[str], described: list[str], chance: float) -> list[str]:
    """The parts in one of the usual orders."""
    if chance < 0.5:
        return maker + name + described
    if chance < 0.75:
        return described + maker + name
    if chance < 0.9:
        return maker + described + name
    return name + maker + described


def _form(forms: tuple[str, ...], chance: float) -> str:
    """The title's own form in 55% of cases, otherwise one of the others."""
    if chance < 0.55 or len(forms) == 1:
        return forms[0]
    return _pick(forms[1:], (chance - 0.55) / 0.45)


def _pick(choices: tuple[str, ...], chance: float) -> str:
    return choices[min(int(chance * len(choices)), len(choices) - 1)]


def _other_number(name: str) -> str:
    """The plural of a singular name, the singular of a plural one."""
    if name.endswith(("sses", "ches", "shes", "xes")):
        return name[:-2]
    if name.endswith("s") and not name.endswith("ss"):
        return name[:-1]
    return name + ("es" if name.endswith(("ss", "ch", "sh", "x")) else "s")
