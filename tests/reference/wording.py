"""The slow twin of `wording`: the same texts from strings, one decision a line."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from xmach.synthetic.kernels.wording import BRAND, MODEL, SERIES, TYPE, VALUES, Wanted
from xmach.synthetic.wording import KEYBOARD, Forms
from xmach.types import BoolArray, DoubleArray


def word_texts_slow(
    forms: Forms, wanted: Wanted, mentioned: BoolArray, chances: DoubleArray, typos: float
) -> list[str]:
    """One query text each."""
    return [
        _text(forms, wanted, row, mentioned[row].tolist(), iter(chances[row].tolist()), typos)
        for row in range(len(mentioned))
    ]


def _text(forms: Forms, wanted: Wanted, row: int, mentioned: list[bool], chance: Iterator[float], typos: float) -> str:
    """One text; every `next(chance)` is one decision, N_CHANCES of them at most."""
    maker = [_brand(forms, int(wanted.brand[row]))] if mentioned[BRAND] else []
    if mentioned[SERIES]:
        maker.append(forms.series[wanted.series[row]])
    if mentioned[MODEL]:
        maker.append(str(wanted.model[row]))
    name = [_form(forms.names[wanted.type[row]], next(chance))] if mentioned[TYPE] else []
    if name and next(chance) < 0.15:
        name = [forms.other_number[name[0]]]
    said = [value for value, said in zip(wanted.values[row].tolist(), mentioned[VALUES:], strict=True) if said]
    described = [_form(forms.values[value], next(chance)) for value in said]
    if next(chance) < 0.3:
        described.reverse()
    parts = _order(maker, name, described, next(chance))
    if next(chance) < 0.06:
        parts.insert(int(next(chance) * 2) * len(parts), _pick(forms.extras, next(chance)))
    words = " ".join(parts).split()
    if len(words) > 2 and next(chance) < 0.06:
        del words[int(next(chance) * len(words))]
    if len(words) > 1 and next(chance) < 0.03:
        at = int(next(chance) * (len(words) - 1))
        words[at : at + 2] = [words[at] + words[at + 1]]
    if next(chance) < typos:
        at = int(next(chance) * len(words))
        words[at] = mistype_slow(words[at], next(chance), next(chance))
    return " ".join(words)


def mistype_slow(word: str, how: float, where: float) -> str:
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
    row = next(keys for keys in KEYBOARD if word[at] in keys)
    place = row.index(word[at])
    return word[:at] + row[place - 1 if place else 1] + word[at + 1 :]


def _brand(forms: Forms, number: int) -> str:
    """A brand's name: a part for each digit of its number."""
    name = ""
    for choices in forms.brand_parts:
        number, which = divmod(number, len(choices))
        name += choices[which]
    return name


def _order(maker: list[str], name: list[str], described: list[str], chance: float) -> list[str]:
    """The parts in one of the usual orders."""
    if chance < 0.5:
        return maker + name + described
    if chance < 0.75:
        return described + maker + name
    if chance < 0.9:
        return maker + described + name
    return name + maker + described


def _form(forms: Sequence[str], chance: float) -> str:
    """The title's own form in 55% of cases, otherwise one of the others."""
    if chance < 0.55 or len(forms) == 1:
        return forms[0]
    return _pick(forms[1:], (chance - 0.55) / 0.45)


def _pick(choices: Sequence[str], chance: float) -> str:
    return choices[min(int(chance * len(choices)), len(choices) - 1)]
