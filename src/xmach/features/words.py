"""Text to words: one normal form and one definition of a word, the same in every process."""

from __future__ import annotations

import re
import unicodedata

# Han, kana and their extensions: written without spaces, so a run of them falls back to single characters.
_UNSPACED = "\u3005-\u3007\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U000323af"
# Vowel signs and other marks belong to the word they stand in, though `\w` leaves them out: Latin, Hebrew, Arabic, the
# scripts of India (without the full stops at 0964-0965), Thai and Lao, and the joiners of Arabic and Indic scripts.
_MARKS = (
    "\u0300-\u036f\u0591-\u05bd\u05bf-\u05c2\u05c4-\u05c7\u064b-\u065f\u0670\u0900-\u0963\u0966-\u0dff"
    "\u0e31-\u0e3a\u0e47-\u0e4e\u0eb1-\u0ebc\u0ec8-\u0ece\u200c\u200d"
)
_WORD = re.compile(f"[{_UNSPACED}]|(?:[^\\W{_UNSPACED}][{_MARKS}]*)+")


def words_of(text: str) -> list[str]:
    """The words of a text after NFKC and case folding; underscores and digits are word characters."""
    if text.isascii():
        return _WORD.findall(text.lower())
    # Folding can undo the normal form (and the other way round), hence twice.
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())
    return _WORD.findall(folded)
