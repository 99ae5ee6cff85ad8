"""Queries in users' words."""

from __future__ import annotations

import numpy as np
import pytest
from tests.reference.wording import mistype_slow

from xmach.synthetic.catalogue import N_ATTRIBUTES, Catalogue
from xmach.synthetic.kernels.wording import VALUES
from xmach.synthetic.randomness import stream
from xmach.synthetic.wording import Wording


@pytest.mark.parametrize(("how", "typed"), [(0.1, "rnuning"), (0.3, "rnning"), (0.6, "ruunning"), (0.9, "rynning")])
def test_the_four_mistakes(how: float, typed: str) -> None:
    assert mistype_slow("running", how, 0.0) == typed


@pytest.mark.parametrize("word", ["red", "42", "500ml", "t-shirt"])
def test_short_words_and_numbers_are_typed_right(word: str) -> None:
    assert mistype_slow(word, 0.1, 0.5) == word


@pytest.mark.parametrize("how", [0.0, 0.25, 0.5, 0.75, 0.99])
@pytest.mark.parametrize("where", [0.0, 0.5, 1 - 2**-53])
def test_a_mistake_leaves_a_word(how: float, where: float) -> None:
    for word in ("aqua", "zebra", "moccasins"):
        assert abs(len(mistype_slow(word, how, where)) - len(word)) <= 1
        assert mistype_slow(word, how, where)[0] == word[0]


def test_all_that_is_mentioned_can_be_worded() -> None:
    """With everything mentioned and a mistake in each text, the chances of a row suffice."""
    catalogue = Catalogue(2000, seed=0)
    wanted = catalogue.facets(np.arange(2000))
    mentioned = np.concatenate([np.ones((2000, VALUES), np.bool_), wanted.values >= 0], axis=1)
    assert mentioned.shape == (2000, VALUES + N_ATTRIBUTES)
    data, ends = Wording(typos=1.0).texts(wanted, mentioned, stream("test"))
    texts = [data[start:stop].tobytes().decode() for start, stop in zip([0, *ends[:-1]], ends, strict=True)]
    assert all(text and text == text.lower() == " ".join(text.split()) for text in texts)
    assert np.mean([len(text.split()) for text in texts]) > 6
