"""Typos, empty and very long queries, emoji, mixed scripts: an answer or a clear error, in Python and from files."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.conftest import Run

from xmach import MACHClassifier, Predictor, load
from xmach.data import Columns, read_dataset
from xmach.errors import DataFileError
from xmach.features import HashedText, VocabularyText
from xmach.types import SparseRows

PRODUCTS = ["red running shoe", "iron frying pan", "green tea bags", "wool winter sock", "garden hose reel"]
SMALL = VocabularyText(n_features=2000, words=40, bigrams=40, trigrams=150, unknown=200)
ODD = {
    "a typo": "gren tae bgas",
    "letters run together": "greenteabags",
    "empty": "",
    "blanks": " \t\r\n\u00a0\u3000 ",
    "punctuation": "?!... --- ,;'\"",
    "10,000 characters": ("green tea bags " * 667)[:10_000],
    "one word of 10,000 letters": "x" * 10_000,
    "10,000 characters of Han": "漢" * 10_000,
    "emoji": "👟👟🏽 👩‍👩‍👧‍👦 🇩🇪",
    "emoji and words": "🍵 green tea 🍵 bags",
    "mixed scripts": "green чай 緑茶 شاي χαι चाय ชา ברוש",
    "right to left and joiners": "\u202egreen\u202c te\u200da می\u200cخواهم",
    "full width": "ＧＲＥＥＮ　ＴＥＡ",
    "marks without end": "g" + "\u0301" * 5000,
    "zero bytes": "green\x00tea\x00bags",
    "numbers": "0 1e309 nan -inf 0x1F",
    "code": "'; DROP TABLE x; -- <script>{{7*7}}</script> ${jndi}",
    "beyond the basic plane": "\U0001d50a\U0001d52f\U0001d522\U0001d522\U0001d52b \U00020000\U0010ffff",
}
LONE = "green \ud800 tea \udfff"  # no UTF-8 file can have it, a list can


def trained(features: HashedText | VocabularyText, folder: Path, learner: str = "network") -> Path:
    texts = [f"{product} {i}" for product in PRODUCTS for i in range(8)]
    settings: dict[str, Any] = {"hidden": (16,), "epochs": 20, "learning_rate": 0.02} if learner == "network" else {}
    clf = MACHClassifier(4, 8, features=features, learner=learner, bucketing="random", **settings)
    clf.fit(texts, [product for product in PRODUCTS for _ in range(8)]).save(folder)
    return folder


@pytest.fixture(scope="module")
def vocabulary_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return trained(SMALL, tmp_path_factory.mktemp("odd") / "vocabulary")


@pytest.fixture(scope="module", params=["hashed", "vocabulary", "linear"])
def predictor(
    request: pytest.FixtureRequest, vocabulary_model: Path, tmp_path_factory: pytest.TempPathFactory
) -> Predictor:
    if request.param == "vocabulary":
        return load(vocabulary_model)
    learner = "linear" if request.param == "linear" else "network"
    return load(trained(HashedText(2000), tmp_path_factory.mktemp("odd") / request.param, learner))


@pytest.mark.parametrize("name", [*ODD, "lone surrogates"])
def test_in_python(predictor: Predictor, name: str) -> None:
    text = ODD.get(name, LONE)
    best = predictor.top_k([text], 3)
    assert np.isfinite(best.scores).all()
    assert set(best.labels[0]) <= set(PRODUCTS)
    among = predictor.top_k(["iron pan", text, "hose"], 3)  # its neighbours are answered as ever
    assert among.labels[1].tolist() == best.labels[0].tolist()
    assert among.labels[[0, 2], 0].tolist() == ["iron frying pan", "garden hose reel"]


@pytest.mark.parametrize("name", ["a typo", "letters run together", "emoji and words", "full width", "zero bytes"])
def test_what_can_be_understood_is(predictor: Predictor, name: str) -> None:
    assert predictor.top_k([ODD[name]], 1).labels[0, 0] == "green tea bags"


def test_what_has_no_words_is_answered_by_how_frequent_labels_are(predictor: Predictor) -> None:
    """No feature at all: the same answer as for the empty text."""
    silent = predictor.top_k([ODD[name] for name in ("empty", "blanks", "punctuation", "emoji")], 5)
    assert (silent.ids == silent.ids[0]).all()
    np.testing.assert_array_equal(silent.scores, np.repeat(silent.scores[:1], 4, axis=0))


def write(path: Path, texts: list[str]) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        if path.suffix == ".csv":
            csv.writer(file, lineterminator="\n").writerows([["query"], *([text] for text in texts)])
        else:
            file.writelines(json.dumps({"query": text}, ensure_ascii=i % 2 == 0) + "\n" for i, text in enumerate(texts))


def texts_for(kind: str) -> list[str]:
    return [text for text in ODD.values() if kind == "jsonl" or "\x00" not in text]


@pytest.mark.parametrize("kind", ["csv", "jsonl"])
def test_from_files_as_in_python(predictor: Predictor, tmp_path: Path, kind: str) -> None:
    path, texts = tmp_path / f"asked.{kind}", texts_for(kind)
    write(path, texts)
    data = read_dataset(path, columns=Columns(text=("query",)), text=predictor.text, with_labels=False)
    expected = predictor.rows(texts)
    assert isinstance(data.features, SparseRows)
    assert isinstance(expected, SparseRows)
    for part in ("indptr", "indices", "values"):
        np.testing.assert_array_equal(getattr(data.features, part), getattr(expected, part))


@pytest.mark.parametrize("kind", ["csv", "jsonl"])
def test_the_command_answers_as_python_does(xmach: Run, vocabulary_model: Path, tmp_path: Path, kind: str) -> None:
    path, texts = tmp_path / f"asked.{kind}", texts_for(kind)
    write(path, texts)
    found = xmach("predict", vocabulary_model, path, "--text", "query", "--k", 3).stdout.splitlines()
    answers = [json.loads(line) for line in found]
    assert [answer["row"] for answer in answers] == list(range(len(texts)))
    expected = load(vocabulary_model).top_k(texts, 3)
    assert [answer["labels"] for answer in answers] == expected.labels.tolist()
    np.testing.assert_allclose([answer["scores"] for answer in answers], expected.scores, rtol=1e-4)


@pytest.mark.parametrize("bad", [b"red\x00shoe", b"red \xff shoe"], ids=["zero byte", "no UTF-8"])
@pytest.mark.parametrize("kind", ["csv", "jsonl"])
def test_bytes_that_are_no_text_are_refused_with_their_line(
    predictor: Predictor, tmp_path: Path, kind: str, bad: bytes
) -> None:
    path = tmp_path / f"asked.{kind}"
    rows = [b"iron pan", bad, b"green tea"]
    lines = [b"query", *rows] if kind == "csv" else [b'{"query": "' + row + b'"}' for row in rows]
    path.write_bytes(b"\n".join(lines) + b"\n")
    options: dict[str, Any] = {"columns": Columns(text=("query",)), "text": predictor.text, "with_labels": False}
    with pytest.raises(DataFileError, match=rf"{kind}:{lines.index(lines[-2]) + 1}: "):
        read_dataset(path, **options)
    kept = read_dataset(path, on_error="skip", **options)
    assert kept.row_numbers is not None
    assert kept.row_numbers.tolist() == [0, 2]


def test_half_a_surrogate_pair_in_json_is_refused_with_its_line(predictor: Predictor, tmp_path: Path) -> None:
    path = tmp_path / "asked.jsonl"
    path.write_text(json.dumps({"query": "iron pan"}) + "\n" + json.dumps({"query": LONE}) + "\n")
    with pytest.raises(DataFileError, match="jsonl:2: column 'query': half of a surrogate pair"):
        read_dataset(path, columns=Columns(text=("query",)), text=predictor.text, with_labels=False)
