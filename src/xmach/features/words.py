"""Text to words: one normal form and one definition of a word, the same in every process."""

from __future__ import annotations

import re
import unicodedata
from functools import cache

import numpy as np

from xmach._kernels.text.words import MARK, SINGLE, WORD
from xmach.types import AnyArray

# Han, kana and their extensions: written without spaces, so a run of them falls back to single characters.
_UNSPACED = "\u3005-\u3007\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U000323af"
# Vowel signs and other marks belong to the word they are in, but `\w` does not match them: Latin, Hebrew, Arabic, the
# scripts of India (without the full stops at 0964-0965), Thai and Lao, and the joiners of Arabic and Indic scripts.
_MARKS = (
    "\u0300-\u036f\u0591-\u05bd\u05bf-\u05c2\u05c4-\u05c7\u064b-\u065f\u0670\u0900-\u0963\u0966-\u0dff"
    "\u0e31-\u0e3a\u0e47-\u0e4e\u0eb1-\u0ebc\u0ec8-\u0ece\u200c\u200d"
)
_LETTER = f"[^\\W{_UNSPACED}]"
_WORD = re.compile(f"[{_UNSPACED}]|(?:{_LETTER}[{_MARKS}]*)+")


def words_of(text: str) -> list[str]:
    """Return the words of a text after NFKC and case folding; underscores and digits are word characters."""
    return _WORD.findall(folded(text))


def word_spans(text: str) -> list[tuple[int, int]]:
    """Return where the words of the original text begin and end."""
    return [match.span() for match in _WORD.finditer(text)]


def folded(text: str) -> str:
    """Return the common form of texts that differ only in case or in the Unicode composition of characters."""
    if text.isascii():
        return text.lower()
    # Folding can undo the normal form (and the other way round), hence twice.
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())


@cache
def character_kinds(n_points: int) -> AnyArray:
    """Return the kind of each of the first code points, for the kernel; takes 80 ms for all, 6 ms for two bytes."""
    every = np.arange(n_points, dtype="<u4").tobytes().decode("utf-32-le", "surrogatepass")
    kinds = np.zeros(n_points, dtype=np.uint8)
    # Some marks are letters, too: they may begin a word.
    for kind, members in ((MARK, f"[{_MARKS}]+"), (WORD, f"{_LETTER}+"), (SINGLE, f"[{_UNSPACED}]+")):
        for run in re.finditer(members, every):
            kinds[run.start() : run.end()] = kind
    return kinds
