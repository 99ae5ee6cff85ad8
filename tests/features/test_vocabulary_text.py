"""Text by a vocabulary: the definition written out, a golden row, learning, the door."""

from __future__ import annotations

import gzip
import json
import pickle
from collections import Counter
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from sklearn.utils import murmurhash3_32
from tests.features.test_hashed import TEXTS
from tests.reference.tokens import key_slow

from xmach.errors import InputError, ParameterError
from xmach.features import HashedText, VocabularyText, blocks, featurizer, learned, stored_text
from xmach.features.words import words_of

SMALL = VocabularyText(n_features=5000, words=6, bigrams=4, trigrams=8, unknown=50)
GOLDEN = {
    785: 1, 794: 1, 1502: 1, 1641: 1, 1763: 2, 1818: 1, 1987: 1, 2080: 1,
    2102: 1, 2247: 1, 2786: 1, 3317: 1, 3451: 1, 4004: 1, 4008: 1, 4054: 1, 4643: 2,
}  # fmt: skip
SHOP = ["red shoe", "red sock", "blue shoe", "red shoe lace", "größe 漢字 red"]


def tokens_of(text: str) -> list[tuple[int, str]]:
    words = words_of(text)
    tokens = [(0, f"w:{word}") for word in words] + [(1, f"b:{a} {b}") for a, b in pairwise(words)]
    return tokens + [
        (2, f"c:{bounded[i : i + 3]}") for word in words for bounded in [f"#{word}#"] for i in range(len(bounded) - 2)
    ]


def slow_vocabulary(texts: list[str], text: VocabularyText) -> dict[tuple[int, str], int]:
    """Token -> slot: by kind, then by falling frequency, then by key."""
    counts = Counter(token for each in texts for token in tokens_of(each))
    slots, first = {}, 0
    for kind, size in enumerate(text.sizes):
        mine = sorted((-times, key_slow(*token), token) for token, times in counts.items() if token[0] == kind)
        slots |= {token: first + rank for rank, (_, _, token) in enumerate(mine[:size])}
        first += size
    return slots


def slow_row(given: str, slots: dict[tuple[int, str], int], text: VocabularyText) -> dict[int, int]:
    """Column -> count, as the paper reads: slots, reserved ones for the others, hashed once more."""
    columns = []
    for kind, token in tokens_of(given):
        if not text.sizes[kind]:
            continue
        slot = slots.get((kind, token))
        if slot is None:
            if not text.unknown:
                continue
            slot = sum(text.sizes) + murmurhash3_32(token, 0, True) % text.unknown
        columns.append(murmurhash3_32(slot, 0, True) % text.n_features)
    return dict(sorted(Counter(columns).items()))


def as_dicts(rows: object) -> list[dict[int, float]]:
    return [
        dict(zip(columns.tolist(), values.tolist(), strict=True))
        for columns, values in (rows.row(i) for i in range(rows.n_rows))  # type: ignore[attr-defined]
    ]


@settings(deadline=None, max_examples=100)
@given(TEXTS, TEXTS)
def test_rows_are_those_of_the_definition(train: list[str], asked: list[str]) -> None:
    for text in (SMALL, VocabularyText(500, words=3, bigrams=0, trigrams=5, unknown=0)):
        slots = slow_vocabulary(train, text)
        rows = text.learn(train).transform(asked)
        assert rows.shape == (len(asked), text.n_features)
        assert as_dicts(rows) == [slow_row(each, slots, text) for each in asked]


@pytest.mark.parametrize("file", ["home_depot/title_rows.tsv.gz", "tate/train.tsv.gz"])
def test_real_texts(shared_data: Path, file: str) -> None:
    with gzip.open(shared_data / file, "rt", encoding="utf-8") as lines:
        texts = [line.rstrip("\n").split("\t")[1] for line in lines][::40]
    text = VocabularyText(words=500, bigrams=300, trigrams=400)
    slots = slow_vocabulary(texts, text)
    rows = text.learn(texts).transform(texts[::5])
    assert as_dicts(rows) == [slow_row(each, slots, text) for each in texts[::5]]


def test_the_defaults_are_the_papers() -> None:
    text = VocabularyText()
    assert (text.words, text.bigrams, text.trigrams, text.unknown) == (125_000, 20_000, 70_000, 500_000)
    assert sum(text.sizes) + text.unknown == 715_000
    assert text.n_features == 80_000


def test_golden_row() -> None:
    """The same on every platform and in every version: models on disk rely on it."""
    text = SMALL.learn(SHOP)
    assert text.digest == "bad9b2639f755af9510e80eb49c91358fa48919ded704be357ea827718024f5a"
    assert as_dicts(text.transform(["red shoe größer"]))[0] == GOLDEN


def test_texts_in_portions_give_the_same_vocabulary(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = [f"word{i % 7} {'größer' if i % 10 == 0 else 'other'} {i}" for i in range(60)]
    whole, learner = SMALL.learn(texts), SMALL.learner()
    monkeypatch.setattr(blocks, "_BLOCK", 40)
    for start in range(0, 60, 7):
        learner.add(texts[start : start + 7])
    assert SMALL.learned(learner) == whole
    assert whole.found == (6, 4, 8)
    assert whole.slack == (0, 0, 0)


def test_too_many_tokens_are_told() -> None:
    texts = [f"word{i} frequent" for i in range(3000)]
    text = SMALL.learn(texts, held=500)
    assert text.slack[0] > 0
    assert text.slack[1] > 0
    assert text.to_dict()["slack"] == list(text.slack)
    key = key_slow(0, "w:frequent")
    assert text.keys is not None
    assert text.keys[0] == key  # of all words the most frequent


def test_fewer_tokens_than_slots() -> None:
    text = VocabularyText().learn(["red shoe"])
    assert text.found == (2, 1, 7)
    assert text.transform(["red shoe"]).values.sum() == 10
    assert VocabularyText().learn([]).found == (0, 0, 0)
    assert VocabularyText().learn([""]).transform(["red", ""]).indptr.tolist() == [0, 4, 4]


def test_ones_instead_of_counts() -> None:
    for text in (replace_binary(SMALL.learn(SHOP)), HashedText(binary=True)):
        rows = text.transform(["red red red shoe"])
        assert set(rows.values.tolist()) == {1.0}
    assert max(SMALL.learn(SHOP).transform(["red red red shoe"]).values) == 3.0


def replace_binary(text: VocabularyText) -> VocabularyText:
    return VocabularyText.from_dict({**text.to_dict(), "binary": True}, text.keys)


def test_plain_settings_are_what_they_were() -> None:
    """plan.json of models of counts stays the same bytes."""
    assert HashedText().to_dict() == {
        "kind": "hashed-text", "n_features": 80_000, "words": True, "bigrams": True, "trigrams": True,
    }  # fmt: skip
    assert HashedText.from_dict(HashedText(binary=True).to_dict()) == HashedText(binary=True)


def test_settings_and_keys_go_through_json_and_pickle() -> None:
    text = SMALL.learn(SHOP)
    text.transform(["red"])
    settings_ = json.loads(json.dumps(text.to_dict()))
    assert stored_text(settings_, text.arrays()) == text
    again = pickle.loads(pickle.dumps(text))
    assert again == text
    assert "_slots" not in vars(again)
    assert as_dicts(again.transform(SHOP)) == as_dicts(text.transform(SHOP))
    assert hash(again) == hash(text)
    assert text != SMALL
    assert stored_text(HashedText(100).to_dict(), {}) == HashedText(100)


def test_another_vocabulary_is_refused() -> None:
    text = SMALL.learn(SHOP)
    with pytest.raises(InputError, match="not the vocabulary that the plan names"):
        stored_text(text.to_dict(), SMALL.learn(SHOP[:3]).arrays())
    with pytest.raises(InputError, match="not the vocabulary that the plan names"):
        stored_text(text.to_dict(), {})
    assert text.keys is not None
    with pytest.raises(InputError, match="keys are not those of words, bigrams, trigrams"):
        VocabularyText.from_dict(text.to_dict(), text.keys[::-1].copy())
    with pytest.raises(InputError, match="keys are not those of words, bigrams, trigrams"):
        VocabularyText.from_dict({**text.to_dict(), "words": 2}, text.keys)
    with pytest.raises(ParameterError, match="not the settings of a 'vocabulary-text'"):
        VocabularyText.from_dict({**text.to_dict(), "colour": 1}, text.keys)


def test_nothing_learned_yet() -> None:
    with pytest.raises(InputError, match="has no vocabulary yet"):
        SMALL.transform(["red"])
    assert not SMALL.is_learned


@pytest.mark.parametrize(
    ("settings_", "message"),
    [
        ({"n_features": 0}, "n_features must be a whole number from 1"),
        ({"words": -1}, "words must be a whole number from 0"),
        ({"unknown": 2.5}, "unknown must be a whole number from 0"),
        ({"binary": 1}, "binary must be True or False"),
        ({"words": 0, "bigrams": 0, "trigrams": 0}, "at least one of words, bigrams and trigrams"),
        ({"words": 2**30, "unknown": 2**30}, "must be below 2\\*\\*31"),
    ],
)
def test_settings_are_checked(settings_: dict[str, int], message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        VocabularyText(**settings_)


def test_what_is_no_text_is_named_with_its_row() -> None:
    with pytest.raises(InputError, match="row 1 is a NoneType"):
        SMALL.learn(["a", None])  # type: ignore[list-item]
    with pytest.raises(InputError, match="put it in a list"):
        SMALL.learn("red shoes")
    with pytest.raises(InputError, match="row 0 is a int"):
        SMALL.learn(SHOP).transform([3])  # type: ignore[list-item]


def test_featurizers_by_name() -> None:
    assert featurizer("text") == HashedText()
    assert featurizer("paper") == VocabularyText()
    assert featurizer(SMALL) is SMALL
    with pytest.raises(ParameterError, match="features must be one of 'text', 'paper', a HashedText"):
        featurizer("words")
    ready = SMALL.learn(SHOP)
    assert learned(ready, ["other"]) is ready
    assert learned(SMALL, SHOP) == ready
