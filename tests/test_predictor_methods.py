"""Everything a loaded model does without training: names, candidates, probabilities, explanations, short reprs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from xmach import Dataset, MACHClassifier, Predictor, load
from xmach.errors import InputError, NotEnoughMemory, ParameterError
from xmach.types import SparseRows, TopK

COLOURS = ("red", "blue", "green", "black")
THINGS = ("table", "chair", "lamp", "drill", "mug", "shoe")
PRODUCTS = sorted(f"{colour} {thing}" for colour in COLOURS for thing in THINGS)
TEXTS = [f"{product} {word}" for product in PRODUCTS for word in ("cheap", "large", "new")]
LABELS = [product for product in PRODUCTS for _ in range(3)]
QUERY = "a RED, large lamp"


@pytest.fixture(scope="module")
def fitted() -> MACHClassifier:
    model = MACHClassifier(
        features="text", n_buckets=10, n_repetitions=5, hidden=(8,), epochs=20, learning_rate=0.02, random_state=3
    )
    return model.fit(TEXTS, LABELS)


@pytest.fixture(scope="module")
def folder(fitted: MACHClassifier, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("predictor") / "model"
    fitted.save(path)
    return path


@pytest.fixture(scope="module")
def predictor(folder: Path) -> Predictor:
    return load(folder)


def assert_same(one: TopK, other: TopK) -> None:
    np.testing.assert_array_equal(one.ids, other.ids)
    np.testing.assert_array_equal(one.scores, other.scores)
    assert one.labels.tolist() == other.labels.tolist()


# --- names and candidates


def test_label_names_are_a_sequence(predictor: Predictor) -> None:
    names: Any = predictor.label_names
    assert len(names) == len(PRODUCTS)
    assert names[3] == PRODUCTS[3]
    assert names[-1] == PRODUCTS[-1]
    assert names[2:5] == PRODUCTS[2:5]
    assert names[[0, 1]].tolist() == PRODUCTS[:2]
    assert names[np.arange(len(names)) < 2].tolist() == PRODUCTS[:2]
    assert list(names) == PRODUCTS
    assert "red lamp" in names
    assert "red boat" not in names
    assert names == PRODUCTS
    assert names == np.array(PRODUCTS)
    assert names != PRODUCTS[:-1]
    assert names != [*PRODUCTS[:-1], "red boat"]
    assert names != "red lamp"
    with pytest.raises(IndexError, match="index out of bounds"):
        names[len(PRODUCTS)]


def test_candidates_are_names_or_ids(predictor: Predictor) -> None:
    chosen = ["red chair", "blue lamp", "red mug"]
    by_id = predictor.top_k(TEXTS[:4], 5, candidates=predictor.ids_of(chosen))
    for names in (chosen, tuple(chosen), set(chosen), np.array(chosen), np.array(chosen, object)):
        assert_same(predictor.top_k(TEXTS[:4], 5, candidates=names), by_id)  # type: ignore[arg-type]
    assert by_id.ids.shape == (4, 3)
    rows = [["red chair"], [], ["red mug", "blue lamp"], chosen]
    ids = [predictor.ids_of(row) for row in rows]
    assert_same(predictor.top_k(TEXTS[:4], 2, candidates=rows), predictor.top_k(TEXTS[:4], 2, candidates=ids))


def test_candidates_may_be_generators_or_a_table_of_names(predictor: Predictor) -> None:
    chosen = ["red chair", "blue lamp", "red mug"]
    by_list = predictor.top_k(TEXTS[:4], 3, candidates=chosen)
    ids = predictor.ids_of(chosen).tolist()
    table: Any = np.array([chosen] * 4)
    forms: list[Any] = [
        iter(chosen), iter(ids), dict.fromkeys(chosen), dict(enumerate(chosen)).values(), (name for name in chosen),
        table, table.astype(object), pd.DataFrame(table), iter([chosen] * 4),
        [iter(chosen) for _ in range(4)], [iter(ids) for _ in range(4)],
    ]  # fmt: skip
    for form in forms:
        assert_same(predictor.top_k(TEXTS[:4], 3, candidates=form), by_list)
    with pytest.raises(InputError, match="candidates for 4 rows but 1 rows to answer"):
        predictor.top_k([QUERY], candidates=table)


def test_names_and_ids_do_not_mix(predictor: Predictor) -> None:
    for mixed in ([0, "red mug"], ["red mug", 0], [["red mug", 0]], iter([0, "red mug"]), {0, "red mug"}):
        with pytest.raises(InputError, match="must be all names or all ids, got both: 'red mug' and 0"):
            predictor.top_k([QUERY], candidates=mixed)  # type: ignore[arg-type]
    rows: list[Any] = [["red mug"], [0]]  # of different rows
    assert predictor.top_k([QUERY] * 2, candidates=rows).labels.tolist() == [["red mug"], [PRODUCTS[0]]]


@pytest.mark.parametrize("threads", [0, -1, 1.5, True, "2"])
def test_threads_are_checked(predictor: Predictor, threads: Any) -> None:
    for candidates in (None, ["red mug"]):
        with pytest.raises(ParameterError, match="threads must be a whole number of at least 1, got"):
            predictor.top_k([QUERY], candidates=candidates, threads=threads)


def test_candidates_that_are_not_labels_are_rejected(predictor: Predictor) -> None:
    with pytest.raises(InputError, match="1 of 2 names are not labels; the first is 'red boat'"):
        predictor.top_k([QUERY], candidates=["red lamp", "red boat"])
    with pytest.raises(InputError, match="got 'red lamp': put it in a list"):
        predictor.top_k([QUERY], candidates="red lamp")
    with pytest.raises(InputError, match="candidates are empty"):
        predictor.top_k([QUERY], candidates=[])


# --- probabilities


def test_probabilities_are_the_estimators_and_sum_to_one(predictor: Predictor, fitted: MACHClassifier) -> None:
    probabilities = predictor.predict_proba(TEXTS[:7])
    np.testing.assert_array_equal(probabilities, fitted.predict_proba(TEXTS[:7]))
    np.testing.assert_allclose(probabilities.sum(axis=1), 1.0)
    np.testing.assert_array_equal(probabilities.argmax(axis=1), predictor.top_k(TEXTS[:7], 1).ids[:, 0])


def test_too_many_probabilities_are_not_made(predictor: Predictor, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("xmach.predictor.all_labels.DENSE_CELLS", 100)
    with pytest.raises(NotEnoughMemory, match=r"7 x 24 numbers; use top_k.*at most 4 rows"):
        predictor.predict_proba(TEXTS[:7])


# --- explanations


def test_a_label_is_explained(predictor: Predictor) -> None:
    why = predictor.explain(QUERY, "red lamp")
    full = predictor.top_k([QUERY, "a   , large lamp", "a RED, large  "], len(PRODUCTS))
    scores = [float(row[list(names).index("red lamp")]) for row, names in zip(full.scores, full.labels, strict=True)]
    assert why.label == "red lamp"
    assert why.estimator == predictor.estimator
    assert np.float32(why.score) == np.float32(scores[0])
    assert [(word.word, QUERY[word.start : word.end]) for word in why.words] == [
        (word, word) for word in ("a", "RED", "large", "lamp")
    ]
    effects = {word.word: word.effect for word in why.words}
    assert effects["RED"] == pytest.approx(scores[0] - scores[1], abs=1e-5)
    assert effects["lamp"] == pytest.approx(scores[0] - scores[2], abs=1e-5)
    sketch, label = predictor.bucket_probabilities([QUERY])[0], predictor.ids_of(["red lamp"])
    for r, each in enumerate(why.repetitions):
        bucket = int(predictor.hashes.buckets(label, r)[0])
        assert (each.repetition, each.bucket) == (r, bucket)
        assert np.float32(each.probability) == sketch[r, bucket]
        assert each.rank == 1 + int((sketch[r] > sketch[r, bucket]).sum())
    assert why.agreeing == sum(each.agrees for each in why.repetitions) == 5
    for rival in why.rivals:
        other = predictor.ids_of([rival.label])
        assert rival.shared == [
            r for r in range(5) if predictor.hashes.buckets(other, r) == predictor.hashes.buckets(label, r)
        ]
        assert rival.shared


def test_an_explanation_reads_well(predictor: Predictor) -> None:
    why = predictor.explain(QUERY, "red lamp", estimator="mean")
    assert repr(why).startswith(f"<Explanation of 'red lamp': mean score {why.score:.4g}, 5 of 5 repetitions agree")
    assert len(repr(why)) < 300
    lines = str(why).splitlines()
    assert lines[0] == f"red lamp: mean score {why.score:.4g}"
    assert len(lines) == 2 + (1 + 4) + (1 + 5) + (1 + len(why.rivals))


def test_a_row_is_explained_without_words(predictor: Predictor) -> None:
    assert predictor.text is not None
    row = predictor.text.transform([QUERY])
    by_text, by_row = predictor.explain(QUERY, "red lamp"), predictor.explain(row, "red lamp")
    assert by_row.words == []
    assert (by_row.score, by_row.repetitions, by_row.rivals) == (by_text.score, by_text.repetitions, by_text.rivals)
    assert predictor.explain("", "red lamp").words == []


def test_a_list_with_one_text_is_that_text(predictor: Predictor) -> None:
    why = predictor.explain(QUERY, "red lamp")
    for one in ([QUERY], (QUERY,), np.array([QUERY]), pd.Series([QUERY], index=[7]), iter([QUERY])):
        assert predictor.explain(one, "red lamp") == why
    with pytest.raises(InputError, match="one text or row, got 2 of them"):
        predictor.explain([QUERY, QUERY], "red lamp")


def test_a_row_of_a_table_is_explained() -> None:
    table = pd.DataFrame(np.eye(4), columns=list("abcd"))
    model = MACHClassifier(n_buckets=2, n_repetitions=3, hidden=(), epochs=1).fit(table, [0, 1, 2, 3])
    why = model.explain(np.eye(4)[1], 1)
    for row in ([0, 1, 0, 0], (0.0, 1.0, 0.0, 0.0), [[0, 1, 0, 0]], table.iloc[1], table[1:2], pd.Series(np.eye(4)[1])):
        assert model.explain(row, 1) == why
    with pytest.raises(InputError, match="they must be in the same order"):
        model.explain(table.iloc[1][::-1], 1)
    with pytest.raises(InputError, match="3 features, but the model was trained with 4"):
        model.explain([0, 1, 0], 1)
    with pytest.raises(InputError, match="must hold numbers, got an array of text"):
        model.explain(["boat at sea"], 1)


def test_a_dense_row_is_explained() -> None:
    model = MACHClassifier(n_buckets=2, n_repetitions=3, hidden=(), epochs=1).fit(np.eye(4), [0, 1, 2, 3])
    assert model.explain(np.eye(4)[1], 1) == model.explain(np.eye(4)[1:2], 1)
    assert model.explain(np.eye(4)[1], 1).label == 1
    with pytest.raises(InputError, match="one text or row, got 4 of them"):
        model.explain(np.eye(4), 1)
    with pytest.raises(InputError, match="not trained on texts"):
        model.explain("boat at sea", 1)


def test_only_labels_are_explained(predictor: Predictor) -> None:
    with pytest.raises(InputError, match="'red boat' is not a label"):
        predictor.explain(QUERY, "red boat")


# --- the estimator has the same methods


def test_a_loaded_classifier_is_the_fitted_one(fitted: MACHClassifier, folder: Path, tmp_path: Path) -> None:
    loaded = MACHClassifier.load(folder)
    assert_same(loaded.top_k(TEXTS, 3), fitted.top_k(TEXTS, 3))
    np.testing.assert_array_equal(loaded.predict(TEXTS), fitted.predict(TEXTS))
    np.testing.assert_array_equal(loaded.predict_proba(TEXTS[:5]), fitted.predict_proba(TEXTS[:5]))
    np.testing.assert_array_equal(loaded.classes_, fitted.classes_)
    assert loaded.classes_.dtype == fitted.classes_.dtype
    assert loaded.history_ == fitted.history_
    assert loaded.score(TEXTS, LABELS) == fitted.score(TEXTS, LABELS)
    assert (
        loaded.explain(QUERY, "red lamp")
        == fitted.explain(QUERY, "red lamp")
        == load(folder).explain(QUERY, "red lamp")
    )
    assert loaded.ids_of(["red lamp"]).tolist() == [PRODUCTS.index("red lamp")]
    assert (loaded.n_buckets, loaded.hidden, loaded.random_state) == (10, (8,), 3)
    loaded.save(tmp_path / "again")
    for file in filter(Path.is_file, folder.rglob("*")):
        assert (tmp_path / "again" / file.relative_to(folder)).read_bytes() == file.read_bytes()


def test_a_loaded_multilabel_classifier_gives_sparse_predictions(tmp_path: Path) -> None:
    targets = np.eye(6, dtype=int)[:, ::-1] | np.eye(6, dtype=int)
    fitted = MACHClassifier(n_buckets=3, n_repetitions=3, hidden=(), epochs=2).fit(np.eye(6), targets)
    fitted.save(tmp_path / "m")
    loaded = MACHClassifier.load(tmp_path / "m")
    np.testing.assert_array_equal(loaded.predict(np.eye(6)).toarray(), fitted.predict(np.eye(6)))
    np.testing.assert_array_equal(loaded.classes_, np.arange(6))


# --- reprs


def test_reprs_are_short(predictor: Predictor, fitted: MACHClassifier) -> None:
    rows = SparseRows(np.arange(1001), np.zeros(1000, np.int32), np.ones(1000, np.float32), 50)
    many = MACHClassifier(n_buckets=10, n_repetitions=64, hidden=(), epochs=1).fit(np.eye(20), list(range(20)))
    shown = [
        predictor, predictor.decoder, predictor.hashes, many.predictor_, many.predictor_.hashes, predictor.models[0],
        predictor.scaler, predictor.text, predictor.label_counts, predictor.label_names, predictor.top_k(TEXTS, 20),
        TopK(np.array([["x" * 1000] * 5]), np.ones((1, 5), np.float32), np.zeros((1, 5), np.int64)), rows,
        Dataset(rows, rows), fitted, many, predictor.explain("word " * 70, "red lamp"),
    ]  # fmt: skip
    for thing in shown:
        assert len(repr(thing)) < 300, repr(thing)
    assert repr(predictor) == (
        "<Predictor of texts: 24 labels, 5 repetitions of 10 buckets, estimator='log', multilabel=False>"
    )
    assert repr(rows) == "<SparseRows 1,000 x 50, 1,000 values>"
    assert repr(TopK(*(np.empty((0, 3)),) * 3)) == "<TopK of 0 rows, k=3>"
