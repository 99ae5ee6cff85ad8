"""`MACHClassifier.fit(label_text=...)`: the forms it takes, the labels that join, and what is rejected."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from xmach import MACHClassifier
from xmach.data.labels.targets import encode_targets
from xmach.errors import InputError, ParameterError
from xmach.estimator.label_texts import join_label_text
from xmach.features import HashedText

TEXTS = [f"{['red shoe', 'iron pan', 'green tea'][i % 3]} item{i}" for i in range(30)]
LABELS = [["shoe", "pan", "tea"][i % 3] for i in range(30)]
TITLES = {"pan": "cast iron pan", "cup": "a tea cup", "zip": "zip lock bags", "shoe": "running shoe"}
TEXT = HashedText(200)


def classifier(**settings: object) -> MACHClassifier:
    small = {"n_buckets": 3, "n_repetitions": 2, "hidden": (8,), "epochs": 5, "features": TEXT, "ranker": "none"}
    return MACHClassifier(**{**small, **settings})


def joined(y: Any, label_text: Any) -> tuple[list[Any], list[int], list[list[int]]]:
    """The classes, the labels with a text, and the ids of each row's labels."""
    targets, texts = join_label_text(encode_targets(y), label_text, TEXT)
    rows = [targets.labels.row(i)[0].tolist() for i in range(targets.labels.n_rows)]
    assert targets.labels.n_columns == len(targets.classes)
    return targets.classes.tolist(), texts.ids.tolist(), rows


@pytest.mark.parametrize("form", [dict, pd.Series, lambda titles: list(titles.items()), lambda t: tuple(t.items())])
def test_labels_join_the_classes_in_order(form: Any) -> None:
    clf = classifier(n_repetitions=8, epochs=20).fit(TEXTS, LABELS, label_text=form(TITLES))
    assert clf.classes_.tolist() == ["cup", "pan", "shoe", "tea", "zip"]
    assert clf.predictor_.label_counts.dense().tolist() == [0, 10, 10, 10, 0]
    assert clf.predict(["red shoe item0"]).tolist() == ["shoe"]


def test_without_new_labels_nothing_changes() -> None:
    plain = classifier().fit(TEXTS, LABELS)
    clf = classifier().fit(TEXTS, LABELS, label_text={"pan": "cast iron pan"})
    assert clf.classes_.tolist() == plain.classes_.tolist()
    np.testing.assert_array_equal(clf.bucket_probabilities(TEXTS), plain.bucket_probabilities(TEXTS))


def test_ids_follow_the_classes() -> None:
    assert joined([["d", "b"], [], ["b"]], {"c": "c", "a": "a", "d": "d"}) == (
        ["a", "b", "c", "d"], [0, 2, 3], [[1, 3], [], [1]],
    )  # fmt: skip
    assert joined([5, 3, 5], {4: "four", 3: "three"}) == ([3, 4, 5], [0, 1], [[2], [0], [2]])
    assert joined([5.0, 3.0], {4: "four"}) == ([3.0, 4.0, 5.0], [1], [[2], [0]])
    assert joined(np.array([5, 3]), {np.int64(5): "five"}) == ([3, 5], [1], [[1], [0]])
    assert joined(np.array(["b", "dd"], object), {"ccc": "c"}) == (["b", "ccc", "dd"], [1], [[0], [2]])
    assert joined(["10", "9"], {"007": "bond", "茶": "tea"}) == (["007", "10", "9", "茶"], [0, 3], [[1], [2]])
    assert joined([True, False], {True: "yes"}) == ([False, True], [1], [[1], [0]])


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array, np.ndarray.tolist])
def test_labels_of_a_matrix_are_its_columns(form: Any) -> None:
    y = np.eye(3, 4, dtype=np.int64)
    assert joined(form(y), {3: "three", 0: "zero"}) == ([0, 1, 2, 3], [0, 3], [[0], [1], [2]])
    for other in (4, -1, "x"):
        with pytest.raises(
            InputError, match=f"label_text has the label {other!r}, which is not a column of y; .* 4 col"
        ):
            joined(form(y), {other: "text"})


def test_labels_of_a_frame_are_its_column_names() -> None:
    y = pd.DataFrame(np.eye(3, dtype=np.int64), columns=["a", "b", "c"])
    assert joined(y, {"c": "cup"}) == (["a", "b", "c"], [2], [[0], [1], [2]])
    with pytest.raises(InputError, match="the label 0, which is not a column of y"):
        joined(y, {0: "cup"})


def test_labels_whose_text_has_no_word_do_not_join() -> None:
    assert joined(["b", "c"], {"a": "", "b": " \n", "c": "cup", "d": "!"}) == (["b", "c"], [1], [[0], [1]])
    with pytest.raises(InputError, match="none of the 2 texts in label_text has a word"):
        joined(["b", "c"], {"a": "", "b": " "})


def test_validation_rows_may_have_labels_that_only_have_a_text() -> None:
    validation = (["a tea cup", "iron pan"], ["cup", "pan"])
    clf = classifier(n_repetitions=8, epochs=20, validation=validation).fit(TEXTS, LABELS, label_text=TITLES)
    assert clf.score(*validation) >= 0.5
    shares = classifier(validation=0.2).fit(TEXTS, LABELS, label_text=TITLES)
    assert len(shares.classes_) == 5


def test_a_model_with_such_labels_is_saved(tmp_path: Any) -> None:
    clf = classifier().fit(TEXTS, LABELS, label_text=TITLES)
    clf.save(tmp_path / "model")
    assert MACHClassifier.load(tmp_path / "model").classes_.tolist() == clf.classes_.tolist()


@pytest.mark.parametrize(
    ("y", "label_text", "message"),
    [
        (["a"], {"a": None}, "the text of label 'a' is a NoneType, not a string; leave the label out, or give ''"),
        (["a"], {"a": float("nan")}, "the text of label 'a' is a float"),
        (["a"], pd.Series([np.nan], ["a"]), "the text of label 'a' is a float"),
        (["a"], {"a": b"bytes"}, "is a bytes"),
        (["a"], {"a": 7}, "is a int, not a string"),
        (["a"], pd.Series(["x", "y"], ["a", "a"]), "two texts for the label 'a'; leave one out, or join them"),
        (["a"], [("a", "x"), ("b", "y"), ("a", "x")], "two texts for the label 'a'"),
        (["a"], [(["a"], "x")], r"has \['a'\] as a label; a label is text or a number"),
        (["a"], {7: "x"}, r"has the label 7 \(a int\), but the labels of y are such as .*'a'.*; use one type"),
        ([1, 2], {"1": "x"}, r"has the label '1' \(a str\), but the labels of y"),
        (["a"], {None: "x"}, r"has the label None \(a NoneType\)"),
        ([1, 2], {float("nan"): "x"}, "has NaN or infinity as a label"),
        (["a"], {}, "label_text is empty"),
        (["a"], "text", "must be a mapping from label to text, a Series .* or a list of pairs .*; got a str"),
        (["a"], ["text", "other"], "must be a mapping .* got a list"),
        (["a"], pd.DataFrame({"a": ["x"]}), "must be a mapping .* got a DataFrame"),
        (["a"], 7, "must be a mapping .* got a int"),
    ],
)
def test_what_cannot_be_used_is_named(y: Any, label_text: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        joined(y, label_text)


def test_numbers_have_no_vectorizer() -> None:
    with pytest.raises(ParameterError, match=r"label_text needs texts as X, .* give MACHClassifier features='text'"):
        classifier(features=None).fit(np.eye(4), [0, 1, 0, 1], label_text={0: "zero"})


def test_a_long_text_is_as_good_as_any() -> None:
    assert joined(["a", "b"], {"a": "word " * 1_000_000}) == (["a", "b"], [0], [[0], [1]])
