"""The kernels of hashed text against their slow twins, and the hash against scikit-learn's."""

from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.utils import murmurhash3_32
from tests.reference.hashing import hash_texts_slow
from tests.reference.murmur import murmur3_slow
from tests.reference.tally import tally_slow

from xmach._kernels.text.hashing import hash_texts
from xmach._kernels.text.murmur import SLACK, murmur3_tagged, murmur3_trigram
from xmach._kernels.text.tally import Counted, tally
from xmach._kernels.text.words import MARK, OTHER, SINGLE, WORD

Rows = tuple[np.ndarray, np.ndarray, np.ndarray]
ALPHABET = "aZ09_ .\né̀漢🀄ß" + "\U00020000"
KINDS = np.full(0x110000, OTHER, np.uint8)
for members, kind in (("aZ09_éß", WORD), ("\u0300", MARK), ("漢🀄\U00020000", SINGLE)):  # any division will do here
    KINDS[[ord(character) for character in members]] = kind


def padded(data: bytes) -> np.ndarray:
    return np.frombuffer(data + b"\xff" * SLACK, np.uint8).copy()


@given(st.binary(max_size=40), st.integers(0, 2**32 - 1))
def test_the_slow_hash_is_scikit_learns(data: bytes, seed: int) -> None:
    assert murmur3_slow(data, seed) == murmurhash3_32(data, seed, positive=True)


@settings(deadline=None)
@given(st.binary(min_size=1, max_size=40), st.integers(0, 5))
def test_hashes_are_those_of_their_twin(data: bytes, begin: int) -> None:
    line = padded(b"?" * begin + data)
    assert murmur3_tagged(np.uint32(ord("w")), line, begin, begin + len(data)) == murmur3_slow(b"w:" + data)
    if len(data) == 3:
        assert murmur3_trigram(np.uint32(ord("c")), *line[begin : begin + 3]) == murmur3_slow(b"c:" + data)


def test_a_trigram_of_bytes() -> None:
    for data in np.random.default_rng(0).integers(0, 256, (200, 3), dtype=np.uint8):
        assert murmur3_trigram(np.uint32(ord("c")), *data) == murmur3_slow(b"c:" + data.tobytes())


def hashed(texts: list[str], wanted: tuple[bool, bool, bool], n_features: int) -> Rows:
    parts = [text.encode() for text in texts]
    ends = np.cumsum([len(part) for part in parts], dtype=np.int64)
    return hash_texts(np.frombuffer(b"".join(parts), np.uint8), ends, KINDS, *wanted, n_features)


def slowly_hashed(texts: list[str], wanted: tuple[bool, bool, bool], n_features: int) -> Rows:
    return hash_texts_slow([words_in(text) for text in texts], *wanted, n_features)


def words_in(text: str) -> list[str]:
    return re.findall("[漢🀄\U00020000]|[aZ09_éß][aZ09_éß\u0300]*", text)


def assert_same(fast: Rows, slow: Rows) -> None:
    for mine, twin in zip(fast, slow, strict=True):
        np.testing.assert_array_equal(mine, twin)


@settings(deadline=None, max_examples=150)
@given(
    st.lists(st.text(alphabet=ALPHABET, max_size=30), max_size=6),
    st.tuples(st.booleans(), st.booleans(), st.booleans()),
    st.sampled_from([1, 2, 300, 80_000, 2**31 - 1]),
)
def test_rows_are_those_of_the_twin(texts: list[str], wanted: tuple[bool, bool, bool], n_features: int) -> None:
    assert_same(hashed(texts, wanted, n_features), slowly_hashed(texts, wanted, n_features))


@pytest.mark.parametrize("n_features", [50, 80_000, 2**31 - 1])
@pytest.mark.parametrize(
    "text",
    [
        "a9 Z0_ " * 6000,
        "漢" * 9000,
        "a漢" * 9000,
        "é̀" * 20_000,
        "a" * 40_000 + " é " + "9" * 30_000,
        "." * 30_000 + "a",
    ],
    ids=["words", "singles", "mixed", "one word of marks", "long words", "no words"],
)
def test_texts_longer_than_a_line_and_than_the_keys(text: str, n_features: int) -> None:
    texts = ["a b", text, "", "Z" + text + "a"]
    assert_same(hashed(texts, (True, True, True), n_features), slowly_hashed(texts, (True, True, True), n_features))


def test_many_different_words_are_merged_into_one_row() -> None:
    text = " ".join(f"{'a' * (i % 7)}{i}" for i in np.random.default_rng(0).integers(10**6, 10**7, 12_000))
    kinds = np.where(np.arange(128) == 32, OTHER, WORD).astype(np.uint8)
    ends = np.array([len(text)], np.int64)
    for n_features in (300, 2**31 - 1):
        fast = hash_texts(np.frombuffer(text.encode(), np.uint8), ends, kinds, True, True, True, n_features)
        assert_same(fast, hash_texts_slow([text.split()], True, True, True, n_features))


@settings(deadline=None, max_examples=100)
@given(st.integers(0, 2**32 - 1), st.integers(0, 20), st.integers(1, 6))
def test_keys_in_portions_are_counted_as_at_once(seed: int, shift: int, n_rows: int) -> None:
    rng = np.random.default_rng(seed)
    rows = np.sort(rng.integers(0, n_rows, 200))
    columns = rng.integers(0, min(1 << shift, 40), 200)
    counted = Counted(np.zeros(n_rows, np.int64), np.empty(400, np.int32), np.empty(400, np.uint32))
    done, cuts = 0, np.unique(rng.integers(1, 200, 3))
    for part, part_rows in zip(np.split(columns, cuts), np.split(rows, cuts), strict=True):
        keys = (part_rows - part_rows[0] << shift | part).astype(np.uint64)
        done = tally(keys, np.empty_like(keys), len(keys), shift, part_rows[0], counted, done)
    assert_same((counted.lengths, counted.columns[:done], counted.counts[:done]), tally_slow(rows, columns, n_rows))
