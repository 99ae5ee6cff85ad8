"""The table of bad arrays, row by row, at every door: `fit`, the answers of a classifier, those of a loaded model."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.exceptions import NotFittedError

from xmach import MACHClassifier, load
from xmach.errors import InputError

RNG = np.random.default_rng(0)
Y = np.repeat(np.arange(6), 10)
X = (RNG.random((60, 8)) + 3 * np.eye(8)[Y]).astype(np.float32)
SMALL = {"n_buckets": 3, "n_repetitions": 4, "hidden": (), "epochs": 2}
FITTED = MACHClassifier(**SMALL).fit(X, Y)


@pytest.fixture(scope="module")
def loaded(tmp_path_factory: pytest.TempPathFactory) -> Any:
    folder: Path = tmp_path_factory.mktemp("models") / "model"
    FITTED.save(folder)
    return load(folder)


def fit(bad: Any) -> None:
    MACHClassifier(**SMALL).fit(bad, Y[: bad.shape[0]])


DOORS: dict[str, Callable[[Any, Any], Any]] = {
    "fit": lambda bad, loaded: fit(bad),
    "top_k": lambda bad, loaded: FITTED.top_k(bad),
    "predict": lambda bad, loaded: FITTED.predict(bad),
    "predict_proba": lambda bad, loaded: FITTED.predict_proba(bad),
    "bucket_probabilities": lambda bad, loaded: FITTED.bucket_probabilities(bad),
    "loaded": lambda bad, loaded: loaded.top_k(bad),
}
every_door = pytest.mark.parametrize("door", DOORS.values(), ids=DOORS)
answering = pytest.mark.parametrize("door", [DOORS[name] for name in DOORS if name != "fit"], ids=list(DOORS)[1:])


def spoilt(value: float, form: Callable[[Any], Any]) -> Any:
    bad = X.copy()
    bad[7, 3] = value
    return form(bad)


@every_door
@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix, sp.csc_array, sp.coo_array, pd.DataFrame])
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_numbers_that_are_not_finite(door: Any, loaded: Any, value: float, form: Callable[[Any], Any]) -> None:
    with pytest.raises(ValueError, match=r"(NaN|infinity) at row 7, column 3"):
        door(spoilt(value, form), loaded)


def damaged(part: str, place: int, value: int) -> sp.csr_matrix:
    matrix = sp.csr_matrix(X)
    getattr(matrix, part)[place] = value
    return matrix


@every_door
@pytest.mark.parametrize(
    ("part", "place", "value"),
    [
        ("indices", 0, -1),
        ("indices", 5, 8),
        ("indices", 5, 2**30),
        ("indptr", 3, 2),
        ("indptr", -1, 10**9),
        ("indptr", 0, 1),
    ],
)
def test_csr_matrices_that_contradict_themselves(door: Any, loaded: Any, part: str, place: int, value: int) -> None:
    with pytest.raises(ValueError, match="is not a valid CSR matrix"):
        door(damaged(part, place, value), loaded)


@pytest.mark.parametrize("y", [Y[:-1], sp.csr_matrix(np.eye(6)[Y[:-1]]), [[0]] * 59], ids=["vector", "matrix", "lists"])
def test_different_lengths(y: Any) -> None:
    with pytest.raises(ValueError, match=r"60 rows, y has 59"):
        MACHClassifier(**SMALL).fit(X, y)


@every_door
@pytest.mark.parametrize("bad", [X[:0], sp.csr_matrix(X)[:0], X[:, :0], sp.csr_matrix((60, 0))])
def test_no_rows_or_no_features(door: Any, loaded: Any, bad: Any) -> None:
    with pytest.raises(ValueError, match=r"(0 sample|0 feature|0 rows)"):
        door(bad, loaded)


@pytest.mark.filterwarnings("ignore:n_buckets=3 is more than:UserWarning")
@pytest.mark.parametrize("y", [np.full(60, "only"), np.full(60, 7)])
def test_one_class_only(y: Any) -> None:
    classifier = MACHClassifier(**SMALL).fit(X, y)
    assert (classifier.predict(X) == y).all()
    assert classifier.top_k(X, 5).labels.shape == (60, 1)


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (np.where(Y == 3, np.nan, Y), "NaN"),
        (Y + 0.5, "(?i)continuous|no classes"),
        (-np.eye(6, dtype=int)[Y], "must be 0/1"),
        (sp.csr_matrix(-np.eye(6)[Y]), "must be 0/1"),
        ([None] * 60, "y has no class in row 0"),
    ],
    ids=["nan", "floats", "negative", "negative sparse", "none"],
)
def test_targets_that_are_no_classes(y: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        MACHClassifier(**SMALL).fit(X, y)


@answering
@pytest.mark.parametrize("bad", [X[:, :7], np.hstack([X, X]), sp.csr_matrix(X[:, :7])], ids=["fewer", "more", "sparse"])
def test_another_width_than_at_fit(door: Any, loaded: Any, bad: Any) -> None:
    with pytest.raises(ValueError, match=f"{bad.shape[1]} features.* 8|8 features.* {bad.shape[1]}"):
        door(bad, loaded)


@pytest.mark.parametrize("method", ["predict", "predict_proba", "top_k", "bucket_probabilities"])
def test_answers_before_fit(method: str) -> None:
    with pytest.raises(NotFittedError, match="not fitted"):
        getattr(MACHClassifier(), method)(X)


@pytest.mark.parametrize("k", [0, -1, -(10**9)])
def test_k_below_one(loaded: Any, k: int) -> None:
    for model in (FITTED, loaded):
        with pytest.raises(ValueError, match=f"k must be at least 1, got {k}"):
            model.top_k(X, k)


def test_k_beyond_the_labels_gives_all(loaded: Any) -> None:
    for model in (FITTED, loaded):
        ids = model.top_k(X, 10**6).ids
        assert ids.shape == (60, 6)
        assert (np.sort(ids) == np.arange(6)).all()


@pytest.mark.parametrize(
    ("parameter", "value", "message"),
    [
        ("n_buckets", 1, "n_buckets must be a whole number"),
        ("n_buckets", 2.5, "n_buckets must be a whole number"),
        ("n_repetitions", 0, "n_repetitions must be a whole number from 1"),
        ("hidden", (0,), "hidden must be a whole number of at least 1"),
        ("epochs", 0, "epochs must be a whole number of at least 1"),
        ("learning_rate", 0, r"learning_rate must be a number in \(0"),
        ("learning_rate", -1.0, r"learning_rate must be a number in \(0"),
        ("learning_rate", np.nan, r"learning_rate must be a number in \(0"),
    ],
)
def test_parameters_outside_their_range(parameter: str, value: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        MACHClassifier(**(SMALL | {parameter: value})).fit(X, Y)


def test_more_buckets_than_labels_warns() -> None:
    with pytest.warns(UserWarning, match="n_buckets=7 is more than the 6 labels"):
        MACHClassifier(**(SMALL | {"n_buckets": 7})).fit(X, Y)


def read_only(array: Any) -> Any:
    array = array.copy()
    array.setflags(write=False)
    return array


def mapped(array: Any, folder: Path) -> Any:
    np.save(folder / "x.npy", array)
    return np.load(folder / "x.npy", mmap_mode="r")


def wide_indices(array: Any) -> Any:
    matrix = sp.csr_matrix(array)
    matrix.indices, matrix.indptr = matrix.indices.astype(np.int64), matrix.indptr.astype(np.int64)
    return matrix


WHOLE = np.round(X * 4).astype(np.float32)  # numbers that every type can hold
FORMS: dict[str, Callable[[Any, Path], Any]] = {
    "object": lambda array, _: array.astype(object),
    "integer": lambda array, _: array.astype(np.int64),
    "float64": lambda array, _: array.astype(np.float64),
    "read-only": lambda array, _: read_only(array),
    "non-contiguous": lambda array, _: np.asfortranarray(array),
    "strided": lambda array, _: np.repeat(array, 2, axis=1)[:, ::2],
    "memory-mapped": mapped,
    "int64 indices": lambda array, _: wide_indices(array),
    "DataFrame": lambda array, _: pd.DataFrame(array, columns=list("abcdefgh")),
    "numbers as text": lambda array, _: array.astype(int).astype(str).astype(object),
}


@pytest.mark.parametrize("form", FORMS)
def test_other_forms_work_as_float32_would(form: str, tmp_path: Path) -> None:
    given, plain = FORMS[form](WHOLE, tmp_path), sp.csr_matrix(WHOLE) if form == "int64 indices" else WHOLE
    expected = MACHClassifier(**SMALL).fit(plain, Y).top_k(plain, 3)
    answered = MACHClassifier(**SMALL).fit(given, Y).top_k(given, 3)
    assert (answered.ids == expected.ids).all()
    assert (answered.scores == expected.scores).all()


def test_truth_values_work() -> None:
    given = WHOLE > 6
    answered = MACHClassifier(**SMALL).fit(given, Y).top_k(given, 3)
    expected = MACHClassifier(**SMALL).fit(given * 1, Y).top_k(given * 1, 3)
    assert (answered.ids == expected.ids).all()
    assert (answered.scores == expected.scores).all()


DAYS = np.datetime64("2020-01-01") + np.arange(480).reshape(60, 8)


@every_door
@pytest.mark.parametrize(
    ("bad", "message"),
    [
        (np.full((60, 8), "word"), "got an array of text; .*features='text'"),
        (WHOLE.astype(str), r"got an array of text; use X\.astype\(float\)"),  # refused, though they are numbers
        (pd.DataFrame(X).assign(title="hi"), "got the text 'hi' in column 'title', row 0; .*features='text'"),
        (np.ma.masked_array(X, mask=X > 3), "X has masked values"),
        (DAYS, "got dates or times in column 0"),
        (DAYS - DAYS[0], "got dates or times in column 0"),
        (pd.DataFrame(X).assign(when=DAYS[:, 0]), "got dates or times in column 'when'"),
    ],
    ids=["words", "numbers as str", "text column", "masked", "dates", "times", "date column"],
)
def test_what_is_no_number_is_refused_with_advice(door: Any, loaded: Any, bad: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        door(bad, loaded)


def test_columns_in_another_order(tmp_path: Path) -> None:
    frame = pd.DataFrame(X, columns=list("abcdefgh"))
    classifier = MACHClassifier(**SMALL).fit(frame, Y)
    classifier.save(tmp_path / "model")
    for model in (classifier, classifier.predictor_, load(tmp_path / "model")):
        assert np.array_equal(model.top_k(frame).scores, load(tmp_path / "model").top_k(X).scores)
        for other in (frame[list("hgfedcba")], frame.rename(columns={"c": "z"})):
            with pytest.raises(ValueError, match=r"(?i)feature names .*should match"):
                model.top_k(other)


def test_labels_absent_from_training_come_last_unless_asked() -> None:
    y = sp.lil_matrix((60, 9))
    y[np.arange(60), Y] = 1  # labels 6, 7 and 8 have no row
    classifier = MACHClassifier(**(SMALL | {"n_buckets": 2, "n_repetitions": 1})).fit(X, y.tocsr())
    assert (np.sort(classifier.top_k(X, 9).ids[:, 6:]) == [6, 7, 8]).all()
    mixed = classifier.top_k(X, 9, include_unseen=True).ids
    assert (mixed[:, :6] > 5).any()  # with one hash they score as the seen labels of their bucket do
