"""What counts as a word, in several scripts."""

from __future__ import annotations

import re

import numpy as np
import pytest

from xmach._kernels.text.words import MARK, OTHER, SINGLE, WORD
from xmach.features.words import character_kinds, folded, words_of


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Acme Trail-Runner 2", ["acme", "trail", "runner", "2"]),
        ("snake_case", ["snake_case"]),
        ("STRASSE Straße", ["strasse", "strasse"]),
        ("ＦＵＬＬ ﬁne", ["full", "fine"]),  # NFKC: full-width letters and ligatures
        ("Cafe\u0301 café", ["café", "café"]),  # composed and decomposed are one word
        ("東京タワーtokyo塔", ["東", "京", "タ", "ワ", "ー", "tokyo", "塔"]),
        ("हिन्दी में", ["हिन्दी", "में"]),  # vowel signs do not divide a word
        ("신발 빨강", ["신발", "빨강"]),
        ("", []),
        (" \t\n!?… 👟", []),
        ("lone \ud800 surrogate", ["lone", "surrogate"]),
    ],
)
def test_words(text: str, words: list[str]) -> None:
    assert words_of(text) == words


def test_normalising_twice_changes_nothing() -> None:
    text = "İstanbul Ǆ ſtop ㎏ ½ ΌΣΟΣ"
    once = words_of(text)
    assert words_of(" ".join(once)) == once


def test_folded_text_has_no_capitals_of_ascii() -> None:
    """So that blocks of texts may be lowered as bytes; letters are put together into others, never into these."""
    every = "\n".join(chr(point) for point in range(0x110000))
    assert not re.search("[A-Z]", folded(every))


def test_kinds_of_characters_are_those_of_words() -> None:
    draw = np.random.default_rng(0)
    points = np.concatenate([np.arange(0x3200), draw.integers(0x3200, 0x110000, 3000), [0x20000, 0xD800, 0xFA0E]])
    kinds = character_kinds(0x110000)
    for point in points.tolist():
        character = chr(point)
        if folded(character) != character or folded(f"a{character}") != f"a{character}":
            continue
        alone, after = words_of(character), words_of(f"a{character}")
        expected = {(0, 1): MARK if after == [f"a{character}"] else OTHER, (1, 1): WORD, (1, 2): SINGLE}
        assert kinds[point] == expected[len(alone), len(after)], hex(point)
    np.testing.assert_array_equal(character_kinds(0x80), kinds[:0x80])
    assert {OTHER, MARK, WORD, SINGLE} == set(kinds.tolist())
