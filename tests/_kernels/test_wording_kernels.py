"""Query texts and equal texts: the kernels against their slow twins."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.reference.grouping import group_slow
from tests.reference.wording import mistype_slow, word_texts_slow

from xmach.synthetic.catalogue import N_ATTRIBUTES, Catalogue
from xmach.synthetic.kernels.grouping import TextGroups
from xmach.synthetic.kernels.wording import LONGEST, N_CHANCES, VALUES, Wanted, mistype, word_texts
from xmach.synthetic.names import brand_digits
from xmach.synthetic.wording import forms, neighbours, vocabulary


def divided(data: np.ndarray, ends: np.ndarray) -> list[bytes]:
    whole, edges = data.tobytes(), [0, *ends.tolist()]
    return [whole[start:stop] for start, stop in pairwise(edges)]


@pytest.mark.parametrize("typos", [0.0, 0.3, 1.0])
@pytest.mark.parametrize("said", [0.2, 0.5, 1.0])
def test_texts_are_those_of_the_twin(typos: float, said: float) -> None:
    rng = np.random.default_rng(round(10 * said + typos))
    facets = Catalogue(50_000_000, seed=0).facets(rng.integers(0, 50_000_000, 3000))
    wanted = Wanted(facets.type, brand_digits(facets.brand), facets.series, facets.model, facets.values)
    mentioned = rng.random((3000, VALUES + N_ATTRIBUTES)) < said
    mentioned[:, VALUES:] &= facets.values >= 0
    mentioned[:, 0] |= ~mentioned.any(axis=1)  # no text is empty
    chances = rng.random((3000, N_CHANCES)) ** 2  # what is rare comes up more often
    texts = divided(*word_texts(vocabulary(), wanted, mentioned, chances, typos))
    assert [text.decode() for text in texts] == word_texts_slow(forms(), wanted, mentioned, chances, typos)


def test_the_longest_text_has_room() -> None:
    every = forms()
    longest = sum(sorted(max(map(len, value)) for value in every.values)[-N_ATTRIBUTES:])
    longest += max(len(name) for names in every.names for name in names) + max(map(len, every.extras))
    longest += sum(max(map(len, part)) for part in every.brand_parts) + max(map(len, every.series))
    assert longest + 19 + 10 < LONGEST  # the longest number, and blanks between parts


@settings(deadline=None)  # the first call compiles
@given(
    st.text("abcxyz1-", min_size=1, max_size=12),
    st.floats(0, 1, exclude_max=True),
    st.floats(0, 1, exclude_max=True),
)
def test_mistakes_are_those_of_the_twin(word: str, how: float, where: float) -> None:
    data = np.zeros(len(word) + 1, np.uint8)
    data[: len(word)] = np.frombuffer(word.encode(), np.uint8)
    end = mistype(data, np.int64(0), np.int64(len(word)), how, where, neighbours())
    assert data[:end].tobytes().decode() == mistype_slow(word, how, where)


@settings(deadline=None)
@given(st.lists(st.lists(st.sampled_from([b"", b"a", b"ab", b"b", b"ba", b"abc" * 40]), max_size=30), max_size=4))
def test_equal_texts_get_one_number(batches: list[list[bytes]]) -> None:
    every = [text for batch in batches for text in batch]
    groups = TextGroups(max(1, len(every)))
    rows = [groups.rows(*_joined(batch)).tolist() for batch in batches]
    assert [row for some in rows for row in some] == group_slow(every)
    data, ends, hashes = groups.first(len(groups))
    assert divided(data, ends) == list(dict.fromkeys(every))
    assert len(set(hashes.tolist())) == len(groups)


def test_many_texts_are_told_apart() -> None:
    texts = [b"%d" % (i % 30_000) for i in range(40_000)]
    groups = TextGroups(len(texts))
    assert groups.rows(*_joined(texts)).tolist() == group_slow(texts)
    with pytest.raises(ValueError, match="30000 texts and 10001 more are beyond the 40000 announced"):
        groups.rows(np.zeros(10_001, np.uint8), np.arange(1, 10_002))


def _joined(texts: list[bytes]) -> tuple[np.ndarray, np.ndarray]:
    return np.frombuffer(b"".join(texts), np.uint8).copy(), np.cumsum([len(text) for text in texts], dtype=np.int64)
