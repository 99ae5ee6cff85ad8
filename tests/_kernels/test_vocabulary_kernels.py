"""The kernels of a vocabulary against their slow twins, a dictionary, and scikit-learn's hash."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.utils import murmurhash3_32
from tests._kernels.test_text_kernels import ALPHABET, KINDS, padded, words_in
from tests.reference.lookup import known_rows_slow
from tests.reference.tokens import key_slow, token_keys_slow

from xmach._kernels.text.lookup import count_keys, insert_keys, known_rows, make_slots, table_places
from xmach._kernels.text.murmur import SECOND_SEED, murmur3_number, murmur3_pair, murmur3_trigram_pair
from xmach._kernels.text.tokens import BIGRAMS, KIND_SHIFT, TRIGRAMS, WORDS, Kinds, token_keys

EVERY = Kinds(True, True, True)
C = np.uint32(ord("c"))


def pair_of(data: bytes) -> int:
    return int(murmurhash3_32(data, 0, True)) | int(murmurhash3_32(data, SECOND_SEED, True)) << 32


@settings(deadline=None)
@given(st.binary(min_size=1, max_size=40), st.integers(0, 5))
def test_a_pair_of_hashes_is_scikit_learns(data: bytes, begin: int) -> None:
    assert murmur3_pair(C, padded(b"?" * begin + data), begin, begin + len(data)) == pair_of(b"c:" + data)


def test_pairs_of_trigrams_and_hashes_of_numbers() -> None:
    for data in np.random.default_rng(0).integers(0, 256, (200, 3), dtype=np.uint8):
        assert murmur3_trigram_pair(C, *data) == pair_of(b"c:" + data.tobytes())
    for number in (0, 1, 714_999, 2**31 - 1):
        assert murmur3_number(np.uint32(number)) == murmurhash3_32(number, 0, True)


def keys_of(texts: list[str], wanted: Kinds = EVERY) -> tuple[np.ndarray, np.ndarray]:
    parts = [text.encode() for text in texts]
    ends = np.cumsum([len(part) for part in parts], dtype=np.int64)
    return token_keys(np.frombuffer(b"".join(parts), np.uint8), ends, KINDS, wanted)


def key_rows(texts: list[str], wanted: Kinds = EVERY) -> list[list[int]]:
    keys, ends = keys_of(texts, wanted)
    return [sorted(part.tolist()) for part in np.split(keys, ends[:-1])] if texts else []


@settings(deadline=None, max_examples=150)
@given(st.lists(st.text(alphabet=ALPHABET, max_size=30), max_size=6), st.builds(Kinds, *[st.booleans()] * 3))
def test_keys_are_those_of_the_twin(texts: list[str], wanted: Kinds) -> None:
    assert key_rows(texts, wanted) == token_keys_slow([words_in(text) for text in texts], wanted)


@pytest.mark.parametrize(
    "text",
    ["a9 Z0_ " * 6000, "漢" * 9000, "a漢" * 9000, "é̀" * 20_000, "a" * 40_000 + " é " + "9" * 30_000, "." * 30_000],
)
def test_texts_longer_than_a_line(text: str) -> None:
    texts = ["a b", text, "", "Z" + text + "a"]
    assert key_rows(texts) == token_keys_slow([words_in(each) for each in texts], EVERY)


def test_the_kind_is_above_the_hash() -> None:
    assert key_slow(WORDS, "w:a") >> KIND_SHIFT == 0
    assert [key >> KIND_SHIFT for key in key_rows(["a9 Z0"])[0]] == [WORDS] * 2 + [BIGRAMS] + [TRIGRAMS] * 4
    low = {key & 0xFFFFFFFF for key in key_rows(["a9"], Kinds(True, False, False))[0]}
    assert low == {murmurhash3_32("w:a9", 0, True)}  # as plain hashing has it


@settings(deadline=None, max_examples=50)
@given(st.lists(st.integers(0, 40), max_size=120), st.integers(1, 32))
def test_keys_are_counted_up_to_the_most(numbers: list[int], most: int) -> None:
    keys = np.array(numbers, np.uint64) << np.uint64(20) | np.uint64(BIGRAMS << KIND_SHIFT)  # all begin at one place
    mixed = np.concatenate([keys, [np.uint64(5)]])  # and a word, which is not counted
    known, counts = np.zeros(64, np.uint64), np.zeros(64, np.int64)
    stop, used = count_keys(mixed, 0, BIGRAMS, known, counts, 0, most)
    distinct = list(dict.fromkeys(keys.tolist()))
    first_too_many = mixed.tolist().index(distinct[most]) if len(distinct) > most else len(mixed)
    assert (stop, used) == (first_too_many, min(most, len(distinct)))
    found = dict(zip(known[counts > 0].tolist(), counts[counts > 0].tolist(), strict=True))
    assert found == Counter(mixed[:stop].tolist()) - Counter([5])
    again, times = np.zeros(128, np.uint64), np.zeros(128, np.int64)
    insert_keys(known[counts > 0], counts[counts > 0], again, times)
    assert dict(zip(again[times > 0].tolist(), times[times > 0].tolist(), strict=True)) == found


@settings(deadline=None, max_examples=100)
@given(
    st.lists(st.text(alphabet=ALPHABET, max_size=30), max_size=6),
    st.integers(0, 30),
    st.sampled_from([0, 1, 7, 500_000]),
    st.sampled_from([1, 50, 80_000, 2**31 - 1]),
)
def test_rows_are_those_of_the_twin(texts: list[str], n_known: int, unknown: int, n_features: int) -> None:
    keys, ends = keys_of(texts)
    known = np.unique(keys)[:n_known]
    slots = make_slots(known, np.arange(len(known)) * 3, 1000, unknown, n_features)
    slot_of = {int(key): 3 * i for i, key in enumerate(known)}
    slow = known_rows_slow(key_rows(texts), slot_of, 1000, unknown, n_features)
    for mine, twin in zip(known_rows(keys, ends, slots), slow, strict=True):
        np.testing.assert_array_equal(mine, twin)


def test_many_rows_and_long_ones_are_counted_some_at_a_time() -> None:
    texts = ["a9 Z0_ " * 4000, *(f"a{i} Z" for i in range(3000)), "9" * 30_000]
    keys, ends = keys_of(texts)
    known = np.unique(keys)[::2]
    slots = make_slots(known, np.arange(len(known)), len(known), 10, 5000)
    slot_of = {int(key): i for i, key in enumerate(known)}
    for mine, twin in zip(
        known_rows(keys, ends, slots), known_rows_slow(key_rows(texts), slot_of, len(known), 10, 5000), strict=True
    ):
        np.testing.assert_array_equal(mine, twin)


def test_a_table_is_never_more_than_half_full() -> None:
    for n_keys in (0, 1, 2, 3, 1000, 1024, 215_000):
        places = table_places(n_keys)
        assert places >= max(2, 2 * n_keys)
        assert places & (places - 1) == 0
