"""What counts as a word, in several scripts."""

from __future__ import annotations

import pytest

from xmach.features.words import words_of


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
