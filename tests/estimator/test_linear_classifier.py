"""`MACHClassifier(learner="linear")` as scikit-learn users hold it, and with odd data."""

from __future__ import annotations

import pickle
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.model_selection import GridSearchCV
from sklearn.utils.estimator_checks import parametrize_with_checks
from tests.conftest import made_up

from xmach import MACHClassifier, load
from xmach.errors import InputError, ParameterError
from xmach.models import LinearModel
from xmach.training import MachConfig, fit

SMALL: dict[str, Any] = {"learner": "linear", "n_buckets": 5, "n_repetitions": 4, "cost": 1.0, "passes": 5}
X, Y = load_digits(return_X_y=True)
X, Y = X[:600].astype(np.float32), Y[:600]

# Weights count relative to each other (their mean becomes 1), so repeated rows have a larger total cost than weighted
# ones; and they are two dual variables in a shuffled order. `TestWeights` has what does hold.
REASON = "weights are relative, and repeated rows are several dual variables in a shuffled order"
EXPECTED_FAILURES = {
    "check_sample_weight_equivalence_on_dense_data": REASON,
    "check_sample_weight_equivalence_on_sparse_data": REASON,
}


@parametrize_with_checks(
    [MACHClassifier(learner="linear", n_buckets=2, n_repetitions=8, cost=10.0, passes=10)],
    expected_failed_checks=lambda _: EXPECTED_FAILURES,
)
@pytest.mark.filterwarnings("ignore:n_buckets=2 is more than:UserWarning")  # a check with one class only
@pytest.mark.filterwarnings("ignore:Can't check dok sparse matrix:UserWarning")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
def test_scikit_learn_checks(estimator: MACHClassifier, check) -> None:  # type: ignore[no-untyped-def]
    check(estimator)


def multilabel() -> tuple[sp.csr_matrix, sp.csr_matrix]:
    data = made_up(300, 60, 30)
    features, labels = (
        sp.csr_matrix((rows.values, rows.indices, rows.indptr), shape=rows.shape)
        for rows in (data.features, data.labels)
    )
    return features, labels


@pytest.fixture(scope="module")
def fitted() -> MACHClassifier:
    return MACHClassifier(**SMALL).fit(X, Y)


@pytest.fixture(scope="module")
def logistic() -> MACHClassifier:
    return MACHClassifier(**SMALL, linear_loss="logistic").fit(X, Y)


# --- scikit-learn


def test_grid_search_over_cost() -> None:
    search = GridSearchCV(
        MACHClassifier(**SMALL, ranker="none"), {"cost": np.array([1e-9, 1.0]), "passes": [5]}, cv=2
    ).fit(X, Y)
    assert search.best_params_ == {"cost": 1.0, "passes": 5}
    assert search.best_score_ > 0.7


def test_clone_and_parameters(fitted: MACHClassifier) -> None:
    again = clone(fitted)
    assert again.get_params() == fitted.get_params()
    assert again.set_params(cost="auto", store_bits=32).get_params()["cost"] == "auto"
    assert again.fit(X, Y).predictor_.models[0].codes.dtype == np.float32


def test_pickle(fitted: MACHClassifier) -> None:
    again = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(again.bucket_probabilities(X), fitted.bucket_probabilities(X))


def test_saved_and_loaded(tmp_path: Path) -> None:
    given = {"linear_loss": "logistic", "cost": 2.5, "passes": 4, "prune_below": 0.05, "store_bits": 32}
    model = MACHClassifier(**SMALL | given, random_state=3).fit(X, Y)
    model.save(tmp_path / "model")
    again = MACHClassifier.load(tmp_path / "model")
    parameters = again.get_params()
    assert {name: parameters[name] for name in given} == given
    assert (parameters["learner"], parameters["n_buckets"], parameters["random_state"]) == ("linear", 5, 3)
    assert again.history_ == model.history_
    for other in (again, load(tmp_path / "model")):
        np.testing.assert_array_equal(other.bucket_probabilities(X), model.bucket_probabilities(X))
    refitted = clone(again).set_params(estimator="auto", scaling="auto").fit(X, Y)
    np.testing.assert_array_equal(refitted.bucket_probabilities(X), model.bucket_probabilities(X))


def test_chosen_settings_are_stored(tmp_path: Path) -> None:
    model = MACHClassifier(**SMALL | {"cost": "auto", "passes": "auto"}).fit(X, Y)
    model.save(tmp_path / "model")
    parameters = MACHClassifier.load(tmp_path / "model").get_params()
    assert parameters["cost"] in (0.1, 0.3, 1.0, 3.0)
    assert parameters["passes"] in (3, 5, 8)
    assert parameters["store_bits"] == 8


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"cost": 0.0}, r"cost must be a number in \(0.*, got 0.0, or 'auto'"),
        ({"cost": -1}, r"cost must be a number in \(0"),
        ({"cost": float("nan")}, r"cost must be a number in \(0"),
        ({"cost": "large"}, "cost must be a number .*'large', or 'auto'"),
        ({"passes": 0}, "passes must be a whole number of at least 1, got 0, or 'auto'"),
        ({"passes": 2.5}, "passes must be a whole number"),
        ({"prune_below": -0.1}, r"prune_below must be a number in \[0"),
        ({"store_bits": 16}, "store_bits must be one of 8, 32, got 16, or 'auto'"),
        (
            {"linear_loss": "hinge"},
            "linear_loss must be one of auto, squared_hinge, logistic, .* got 'hinge'",
        ),
    ],
)
def test_bad_parameters_are_named(parameters: dict[str, Any], message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        MACHClassifier(**SMALL | parameters).fit(X, Y)


# --- probabilities


def test_logistic_probabilities_of_classes_sum_to_1(fitted: MACHClassifier, logistic: MACHClassifier) -> None:
    np.testing.assert_allclose(logistic.bucket_probabilities(X).sum(axis=2), 1, rtol=1e-5)
    assert abs(fitted.bucket_probabilities(X).sum(axis=2) - 1).max() > 0.1
    assert [model.normalised for model in logistic.predictor_.models] == [True] * 4


def test_logistic_probabilities_of_several_labels_do_not() -> None:
    features, labels = multilabel()
    sketch = MACHClassifier(**SMALL, linear_loss="logistic").fit(features, labels).bucket_probabilities(features)
    assert sketch.sum(axis=2).mean() == pytest.approx(1.8, abs=0.3)  # two labels a row, some of them in one bucket


def test_which_bucket_probabilities_are_calibrated(fitted: MACHClassifier, logistic: MACHClassifier) -> None:
    network = MACHClassifier(n_buckets=5, n_repetitions=1, hidden=(), epochs=1).fit(X, Y)
    assert [model.predictor_.calibrated for model in (fitted, logistic, network)] == [False, True, True]


def test_the_unbiased_estimate_needs_probabilities(fitted: MACHClassifier, logistic: MACHClassifier) -> None:
    with pytest.raises(InputError, match=r"leave out probabilities=True, .* or train with linear_loss='logistic'"):
        fitted.top_k(X, 3, probabilities=True, estimator="mean")
    for estimator in ("min", "median", "log"):
        fitted.top_k(X, 3, probabilities=True, estimator=estimator)
    assert np.isfinite(logistic.top_k(X, 3, probabilities=True, estimator="mean").scores).all()


def test_the_unbiased_estimate_is_that_of_the_paper(logistic: MACHClassifier) -> None:
    """Theorem 1: (mean of the label's bucket probabilities - c) / (1 - c), c the collision probability, under 1 / B."""
    best = logistic.top_k(X, 10, probabilities=True, estimator="mean")
    sketch, hashes = logistic.bucket_probabilities(X), logistic.predictor_.hashes
    buckets = np.stack([hashes.buckets(np.arange(10), r) for r in range(4)])  # (R, K)
    mean = np.mean([sketch[:, r][:, buckets[r]] for r in range(4)], axis=0)  # (n, K)
    c = hashes.collision_probability
    assert 0.05 < c < 1 / 5
    expected = (mean - c) / (1 - c)
    np.testing.assert_allclose(best.scores, np.take_along_axis(expected, best.ids, axis=1), atol=1e-6)


@pytest.mark.parametrize("estimator", ["mean", "min", "median", "log"])
@pytest.mark.parametrize("loss", ["squared_hinge", "logistic"])
def test_predict_proba(loss: str, estimator: str) -> None:
    model = MACHClassifier(**SMALL, linear_loss=loss, estimator=estimator).fit(X, Y)
    proba = model.predict_proba(X)
    np.testing.assert_allclose(proba.sum(axis=1), 1)
    assert (model.classes_[proba.argmax(axis=1)] == model.predict(X)).all()
    assert model.score(X, Y) > 0.7


# --- what is stored


def test_eight_bits_answer_almost_as_32_do(tmp_path: Path) -> None:
    small, large = (MACHClassifier(**SMALL, store_bits=bits).fit(X, Y) for bits in (8, 32))
    np.testing.assert_allclose(small.bucket_probabilities(X), large.bucket_probabilities(X), atol=0.03)
    assert (small.predict(X) == large.predict(X)).mean() > 0.97
    sizes = []
    for name, model in (("small", small), ("large", large)):
        model.save(tmp_path / name)
        sizes.append((tmp_path / name / "repetition-000.safetensors").stat().st_size)
    assert sizes[0] < sizes[1]


def test_a_larger_threshold_keeps_fewer_weights() -> None:
    kept = [MACHClassifier(**SMALL, prune_below=bound).fit(X, Y).history_[0][0]["weights"] for bound in (0.0, 0.2, 0.5)]
    assert kept == sorted(set(kept), reverse=True)


def test_explanations(fitted: MACHClassifier) -> None:
    why = fitted.explain(X[0], int(Y[0]))
    assert why.label == Y[0]
    assert len(why.repetitions) == 4
    assert why.agreeing >= 3
    assert why.words == []


def test_texts_and_their_words() -> None:
    texts = ["red running shoes", "blue rain jacket", "steel water bottle", "wool winter hat"] * 5
    names = ["shoes", "jacket", "bottle", "hat"] * 5
    model = MACHClassifier(**SMALL | {"n_buckets": 3}, features="text").fit(texts, names)
    assert model.predict(["a red shoe", "rain jackets", "bottle of steel", "hat"]).tolist() == names[:4]
    effects = {word.word: word.effect for word in model.explain("a winter hat", "hat").words}
    assert effects["hat"] > effects["a"]
    assert effects["winter"] > effects["a"]


# --- odd data


@pytest.mark.parametrize("form", [np.asarray, np.asfortranarray, sp.csr_matrix, sp.csc_array])
def test_every_form_of_rows(fitted: MACHClassifier, form: Any) -> None:
    model = MACHClassifier(**SMALL, scaling="none").fit(form(X), Y)
    np.testing.assert_array_equal(model.bucket_probabilities(form(X)), fitted.bucket_probabilities(X))


def test_the_three_forms_of_several_labels() -> None:
    features, labels = multilabel()
    lists = [labels[i].indices.tolist() for i in range(300)]
    models = [MACHClassifier(**SMALL).fit(features, y) for y in (labels, labels.toarray(), lists)]
    expected = models[0].top_k(features, 5)
    for model in models:
        np.testing.assert_array_equal(model.top_k(features, 5).ids, expected.ids)
    assert models[0].score(features, labels) > 0.8
    assert sp.issparse(models[0].predict(features))
    assert isinstance(models[1].predict(features), np.ndarray)


def test_validation_rows_choose_estimator_and_threshold() -> None:
    features, labels = multilabel()
    model = MACHClassifier(**SMALL | {"cost": "auto"}, validation=0.25).fit(features, labels)
    assert model.predictor_.threshold is not None
    assert model.predict(features).sum() > 0


def test_rows_without_values_and_without_labels() -> None:
    features, labels = multilabel()
    features, labels = features.tolil(), labels.tolil()
    features[3], labels[5] = 0, 0
    model = MACHClassifier(**SMALL).fit(features.tocsr(), labels.tocsr())
    empty = model.top_k(sp.csr_matrix((1, 60), dtype=np.float32), 30)
    assert np.isfinite(empty.scores).all()
    assert sorted(empty.ids[0].tolist()) == list(range(30))


@pytest.mark.parametrize(
    "rows", [np.zeros((60, 8)), np.ones((60, 8)), np.zeros((60, 8)) + [1e30] * 8], ids=["zero", "one", "huge"]
)
@pytest.mark.parametrize("settings", [{}, {"cost": "auto", "passes": "auto"}], ids=["explicit", "auto"])
def test_constant_features_give_some_answer(rows: np.ndarray, settings: dict[str, Any]) -> None:
    model = MACHClassifier(**SMALL | settings).fit(rows, np.arange(60) % 6)
    assert set(model.predict(rows)) <= set(range(6))
    assert np.isfinite(model.predict_proba(rows)).all()


def test_repeated_rows_are_learned() -> None:
    rows = np.repeat(np.eye(6), 30, axis=0)
    assert MACHClassifier(**SMALL).fit(rows, np.repeat(np.arange(6), 30)).score(rows, np.repeat(np.arange(6), 30)) == 1


@pytest.mark.filterwarnings("ignore:n_buckets=5 is more than the 1 labels:UserWarning")
@pytest.mark.parametrize("rows", [X[:1], X[:40]], ids=["one row", "one class"])
@pytest.mark.parametrize("loss", ["squared_hinge", "logistic"])
def test_one_class(rows: np.ndarray, loss: str) -> None:
    model = MACHClassifier(learner="linear", n_buckets=5, n_repetitions=2, linear_loss=loss)
    assert model.fit(rows, ["a"] * len(rows)).predict(X).tolist() == ["a"] * len(X)


def test_labels_never_trained_on_come_last() -> None:
    features, labels = multilabel()
    wider = sp.hstack([sp.csr_matrix((300, 5)), labels]).tocsr()
    model = MACHClassifier(**SMALL).fit(features, wider)
    assert (model.top_k(features, 30).ids >= 5).all()
    assert set(model.top_k(features, 35).ids[0, 30:]) == set(range(5))
    assert (model.predict_proba(features)[:, :5] == 0).all()


class TestWeights:
    def test_zero_is_as_good_as_absent(self) -> None:
        weights = (np.arange(600) % 4 > 0).astype(float)
        weighted = MACHClassifier(**SMALL).fit(X, Y, sample_weight=weights)
        absent = MACHClassifier(**SMALL).fit(X[weights > 0], Y[weights > 0])
        np.testing.assert_array_equal(weighted.bucket_probabilities(X), absent.bucket_probabilities(X))

    def test_zero_weights_in_a_dataset(self) -> None:
        """A file may have them, too; the seed of a pass's order is the same, the rows in it are fewer."""
        data = made_up()
        weights = np.ones(300, np.float32)
        weights[150:] = 0.0
        config = MachConfig(learner="linear", n_buckets=8, n_repetitions=1, cost=1.0, passes=50, prune_below=0.0)
        other = data.labels.take(np.concatenate([np.arange(150), np.arange(150)[::-1] + 150]))
        sketches = []
        for labels in (data.labels, other):
            predictor = fit(replace(data, labels=labels, weights=weights), config, executor="local").predictor
            assert predictor is not None
            sketches.append(predictor.bucket_probabilities(data.features))
        np.testing.assert_array_equal(*sketches)

    def test_two_is_about_the_row_twice(self) -> None:
        settings = SMALL | {"passes": 200, "prune_below": 0.0, "store_bits": 32}
        weights = np.where(np.arange(600) % 2, 1.0, 2.0)
        weights /= weights.mean()  # weights count relative to each other
        twice = np.concatenate([np.arange(600), np.arange(0, 600, 2)])
        weighted = MACHClassifier(**settings).fit(X, Y, sample_weight=weights)
        repeated = MACHClassifier(**settings | {"cost": 1 / 1.5}).fit(X[twice], Y[twice])
        np.testing.assert_allclose(weighted.bucket_probabilities(X), repeated.bucket_probabilities(X), atol=0.02)


@pytest.mark.parametrize("factor", [1e30, 1e10, 1e-10])
def test_huge_and_tiny_values(factor: float) -> None:
    rows = (X * factor).astype(np.float32)
    model = MACHClassifier(**SMALL | {"cost": "auto"}).fit(rows, Y)
    assert model.score(rows, Y) > 0.85
    assert np.isfinite(model.bucket_probabilities(rows)).all()


@pytest.mark.parametrize("bits", [8, 32])
@pytest.mark.parametrize("factor", [1e37, 1e-20, 1e-30, 1e-44])
def test_values_at_the_ends_of_float32_do_not_crash(factor: float, bits: int) -> None:
    rows = (X / 16 * factor).astype(np.float32)
    model = MACHClassifier(**SMALL, store_bits=bits).fit(rows, Y)
    assert np.isfinite(model.bucket_probabilities(rows)).all()


@pytest.mark.parametrize("value", [np.nan, np.inf])
@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix])
def test_values_that_are_not_finite_are_placed(fitted: MACHClassifier, value: float, form: Any) -> None:
    bad = X.copy()
    bad[7, 3] = value
    for call in (lambda: MACHClassifier(**SMALL).fit(form(bad), Y), lambda: fitted.predict(form(bad))):
        with pytest.raises(ValueError, match=r"(NaN|infinity) at row 7, column 3"):
            call()


@pytest.mark.filterwarnings("ignore:n_buckets=.* is more than the 10 labels:UserWarning")
@pytest.mark.parametrize(("n_buckets", "n_repetitions"), [(2, 12), (10, 1), (11, 2), (64, 2), (65, 2), (300, 1)])
def test_any_number_of_buckets_and_repetitions(n_buckets: int, n_repetitions: int) -> None:
    model = MACHClassifier(**SMALL | {"n_buckets": n_buckets, "n_repetitions": n_repetitions}).fit(X, Y)
    assert model.bucket_probabilities(X).shape == (600, n_repetitions, n_buckets)
    collisions = len(np.unique(model.predictor_.hashes.buckets(np.arange(10), 0)))
    assert model.score(X, Y) > (0.8 if n_repetitions > 1 else 0.08 * collisions)


def test_more_buckets_than_labels_warns() -> None:
    with pytest.warns(UserWarning, match="n_buckets=50 is more than the 10 labels"):
        model = MACHClassifier(**SMALL | {"n_buckets": 50}).fit(X, Y)
    assert isinstance(model.predictor_.models[0], LinearModel)
