"""Hashed text: a golden row, a slow twin, the door and the properties of rows."""

from __future__ import annotations

import gzip
import json
from collections import Counter
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.utils import murmurhash3_32

from xmach.errors import InputError, ParameterError
from xmach.features import HashedText, blocks
from xmach.features.words import words_of

# A few characters, so that tokens meet; several scripts with their marks; whatever there is, lone surrogates included.
SCRIPTS = (
    "abZ_ 7-.\u00e9\u00dfİſǅΣς\u0301\u0345шЁ"
    "א\u05b8ع\u064b\u0671हि\u094dन्த\u0bcdกำ\u200d漢カｶﾞー한각👟🏽\u2126\ufb01㎏½\U00020000\U0001d400"
)
TEXTS = st.lists(
    st.text(alphabet=st.sampled_from("abcAB 12é漢カ-_"), max_size=12)
    | st.text(alphabet=st.sampled_from(SCRIPTS), max_size=30)
    | st.text(alphabet=st.characters(), max_size=30),
    max_size=8,
)

GOLDEN = {
    961: 2, 6512: 1, 10746: 1, 12033: 2, 14921: 1, 23620: 1, 25464: 1, 27710: 1, 29167: 2, 34363: 1, 36809: 1,
    44767: 1, 51725: 1, 57021: 1, 57056: 1, 63157: 1, 64114: 1, 68866: 2, 78247: 2,
}  # fmt: skip


def slow_row(text: str, n_features: int) -> dict[int, int]:
    """Column -> count, written as the definition reads."""
    words = words_of(text)
    tokens = [f"w:{word}" for word in words]
    tokens += [f"b:{left} {right}" for left, right in pairwise(words)]
    tokens += [f"c:{bounded[i : i + 3]}" for word in words for bounded in [f"#{word}#"] for i in range(len(word))]
    return dict(sorted(Counter(murmurhash3_32(token, 0, True) % n_features for token in tokens).items()))


@settings(deadline=None, max_examples=200)
@given(TEXTS, st.sampled_from([1, 7, 80_000, 2**31 - 1]))
def test_rows_are_those_of_the_slow_twin(texts: list[str], n_features: int) -> None:
    rows = HashedText(n_features=n_features).transform(texts)
    assert rows.shape == (len(texts), n_features)
    for i, text in enumerate(texts):
        columns, values = rows.row(i)
        assert dict(zip(columns.tolist(), values.tolist(), strict=True)) == slow_row(text, n_features)
        assert columns.tolist() == sorted(columns.tolist())


@pytest.mark.parametrize("file", ["home_depot/train.tsv.gz", "home_depot/title_rows.tsv.gz", "tate/train.tsv.gz"])
def test_real_texts(shared_data: Path, file: str) -> None:
    with gzip.open(shared_data / file, "rt", encoding="utf-8") as lines:
        texts = [line.rstrip("\n").split("\t")[1] for line in lines][::40]
    rows = HashedText().transform(texts)
    for i, text in enumerate(texts):
        columns, values = rows.row(i)
        assert dict(zip(columns.tolist(), values.tolist(), strict=True)) == slow_row(text, 80_000)


def test_golden_row() -> None:
    """The same on every platform and in every version: models on disk rely on it."""
    columns, values = HashedText().transform(["Blue blue Straße 42"]).row(0)
    assert dict(zip(columns.tolist(), values.tolist(), strict=True)) == GOLDEN


def test_types_and_an_empty_row_between_others() -> None:
    rows = HashedText().transform(["red shoes", "", "red"])
    assert (rows.indptr.dtype, rows.indices.dtype, rows.values.dtype) == (np.int64, np.int32, np.float32)
    assert rows.indptr[1] == rows.indptr[2]
    assert HashedText().transform([]).shape == (0, 80_000)
    assert HashedText().transform(["", "!"]).nnz == 0


def test_blocks_do_not_show(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = [f"word{i % 7} {'größer' if i % 10 == 0 else 'other'} {i}" for i in range(50)]
    whole = HashedText().transform(texts)
    monkeypatch.setattr(blocks, "_BLOCK", 40)
    parts = HashedText().transform(texts)
    np.testing.assert_array_equal(whole.indptr, parts.indptr)
    np.testing.assert_array_equal(whole.indices, parts.indices)
    np.testing.assert_array_equal(whole.values, parts.values)


def test_a_long_text_is_its_own_block() -> None:
    texts = ["red", "long Wörter " * 30_000, "shoe"]
    rows = HashedText().transform(texts)
    columns, values = rows.row(1)
    assert dict(zip(columns.tolist(), values.tolist(), strict=True)) == slow_row(texts[1], 80_000)
    assert rows.row(2)[0].tolist() == HashedText().transform(["shoe"]).indices.tolist()


def test_kinds_can_be_left_out() -> None:
    text = ["trail runner"]
    assert HashedText(bigrams=False, trigrams=False).transform(text).nnz == 2
    assert HashedText(words=False, trigrams=False).transform(text).nnz == 1
    assert HashedText(words=False, bigrams=False).transform(text).values.sum() == 5 + 6


@pytest.mark.parametrize(("value", "name"), [(None, "NoneType"), (3.5, "float"), (b"x", "bytes")])
def test_what_is_no_text_is_named_with_its_row(value: object, name: str) -> None:
    with pytest.raises(InputError, match=f"row 1 is a {name}"):
        HashedText().transform(["a", value])  # type: ignore[list-item]
    with pytest.raises(InputError, match=f"row 1 is a {name}"):
        HashedText().transform(["a", value, None])  # type: ignore[list-item]


def test_one_string_is_refused() -> None:
    with pytest.raises(InputError, match="put it in a list"):
        HashedText().transform("red shoes")


@pytest.mark.parametrize("n_features", [0, -1, 2**31, 2.5, True])
def test_n_features_is_checked(n_features: int) -> None:
    with pytest.raises(ParameterError, match="n_features must be"):
        HashedText(n_features=n_features)


def test_some_kind_must_be_left() -> None:
    with pytest.raises(ParameterError, match="at least one of"):
        HashedText(words=False, bigrams=False, trigrams=False)
    with pytest.raises(ParameterError, match="words must be True or False"):
        HashedText(words=1)  # type: ignore[arg-type]


def test_settings_go_through_json() -> None:
    made = HashedText(n_features=1000, bigrams=False)
    assert HashedText.from_dict(json.loads(json.dumps(made.to_dict()))) == made


@pytest.mark.parametrize("settings_", [{}, {"kind": "other"}, {"kind": "hashed-text", "colour": 1}])
def test_settings_of_something_else_are_refused(settings_: dict[str, object]) -> None:
    with pytest.raises(ParameterError, match="not the settings of a 'hashed-text'"):
        HashedText.from_dict(settings_)
