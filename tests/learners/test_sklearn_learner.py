"""What is special about wrapped scikit-learn classifiers; what every learner does is in tests/checks/learners.py."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.special import expit, softmax
from sklearn.base import clone
from sklearn.cluster import KMeans
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    IsolationForest,
    RandomForestClassifier,
    StackingClassifier,
    VotingClassifier,
)
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression, LogisticRegression, Perceptron, SGDClassifier
from sklearn.multiclass import OneVsRestClassifier
from sklearn.naive_bayes import GaussianNB, MultinomialNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler
from sklearn.svm import SVC, LinearSVC
from sklearn.utils.validation import check_is_fitted

from xmach.errors import InputError, NotStorable, ParameterError
from xmach.learners import LabelledRows, SklearnLearner
from xmach.learners.sklearn_ import SklearnModel

MakeRows = Callable[..., LabelledRows]
D, LABELS, BUCKETS = 8, 30, 5


def model_of(classifier: Any, desk: Any, loss: Any = "softmax") -> SklearnModel:
    outcome = SklearnLearner(classifier, loss).train(desk.task())
    assert outcome is not None
    assert isinstance(outcome.model, SklearnModel)
    return outcome.model


def matrix_of(rows: LabelledRows) -> sp.csr_matrix:
    features = rows.features
    return sp.csr_matrix((features.values, features.indices, features.indptr), shape=features.shape)


def shares(rows: LabelledRows, i: int) -> dict[int, float]:
    """A row's target by hand: bucket -> share of its label values."""
    ids, values = rows.labels.row(i)
    found: dict[int, float] = {}
    for bucket, value in zip(rows.hashes.buckets(ids, rows.repetition).tolist(), values, strict=True):
        found[bucket] = found.get(bucket, 0.0) + float(value / values.sum())
    return found


@pytest.mark.parametrize("form", ["alone", "pipeline"])
def test_a_row_is_a_weighted_copy_for_each_bucket(make_labelled: MakeRows, make_desk: Any, form: str) -> None:
    rows = make_labelled(60, D, LABELS, BUCKETS)
    X, classifier = matrix_of(rows), LogisticRegression()
    copies = [(i, b, share * rows.weights[i]) for i in range(60) for b, share in shares(rows, i).items()]
    which, buckets, weights = (np.array(column) for column in zip(*copies, strict=True))
    model = model_of(classifier if form == "alone" else make_pipeline(MaxAbsScaler(), classifier), make_desk(rows))
    if form == "pipeline":
        X = MaxAbsScaler().fit(X[which]).transform(X)
    expected = clone(classifier).fit(X[which], buckets, weights.astype(np.float32)).predict_proba(X)
    assert expected.shape == (60, BUCKETS)
    np.testing.assert_allclose(model.probabilities(rows.features), expected, atol=1e-4)


def test_bce_is_one_weighted_problem_a_bucket(make_labelled: MakeRows, make_desk: Any) -> None:
    rows = make_labelled(60, D, LABELS, BUCKETS)
    rows.weights[:4] = 0.0
    X, model = matrix_of(rows), model_of(LogisticRegression(), make_desk(rows), "bce")
    for bucket in range(BUCKETS):
        y = [bucket in shares(rows, i) for i in range(60)]
        expected = LogisticRegression().fit(X, y, rows.weights).predict_proba(X)[:, 1]
        np.testing.assert_allclose(model.probabilities(rows.features)[:, bucket], expected, atol=1e-3)


def test_without_weights_a_row_is_a_copy_for_each_label(make_labelled: MakeRows, make_desk: Any) -> None:
    given = make_labelled(60, D, LABELS, BUCKETS)
    rows = replace(given, weights=None, labels=replace(given.labels, values=np.ones_like(given.labels.values)))
    holders = np.repeat(np.arange(60), np.diff(rows.labels.indptr))
    X, buckets = matrix_of(rows), rows.hashes.buckets(rows.labels.indices, 0)
    expected = KNeighborsClassifier(7).fit(X[holders], buckets).predict_proba(X)
    np.testing.assert_allclose(
        model_of(KNeighborsClassifier(7), make_desk(rows)).probabilities(rows.features), expected, atol=1e-6
    )
    with pytest.raises(InputError, match=r"KNeighborsClassifier\.fit takes no sample_weight"):  # labels of other values
        model_of(KNeighborsClassifier(7), make_desk(replace(rows, labels=given.labels)))


@pytest.mark.parametrize("n_buckets", [2, 6])
def test_scores_go_through_softmax(make_separable: MakeRows, make_desk: Any, n_buckets: int) -> None:
    rows = make_separable(n_buckets=n_buckets)
    model = model_of(LinearSVC(random_state=0), make_desk(rows))
    scores = model.parts[0].classifier.decision_function(matrix_of(rows))
    expected = softmax(scores, axis=1) if n_buckets > 2 else np.stack([expit(-scores), expit(scores)], axis=1)
    np.testing.assert_allclose(model.probabilities(rows.features), expected, atol=1e-6)


@pytest.mark.parametrize("loss", ["softmax", "bce"])
def test_buckets_without_rows_have_probability_zero(make_separable: MakeRows, make_desk: Any, loss: str) -> None:
    rows = make_separable(n_buckets=40)
    empty = np.setdiff1d(np.arange(40), rows.hashes.buckets(np.arange(12), 0))
    assert (model_of(MultinomialNB(), make_desk(rows), loss).probabilities(rows.features)[:, empty] == 0).all()
    single = replace(rows, labels=replace(rows.labels, indices=np.zeros_like(rows.labels.indices)))
    certain = model_of(MultinomialNB(), make_desk(single), loss).probabilities(rows.features)
    assert (certain[:, rows.hashes.buckets([0], 0)] == 1).all()
    assert (certain.sum(axis=1) == 1).all()


def test_the_object_that_was_given_stays_as_it_is(make_separable: MakeRows, make_desk: Any) -> None:
    given = make_pipeline(MaxAbsScaler(), RandomForestClassifier(3))
    before = str(given.get_params())
    model_of(given, make_desk(make_separable()))
    assert str(given.get_params()) == before
    with pytest.raises(NotFittedError, match="not fitted"):
        check_is_fitted(given[-1])


class TestRandomness:
    def seeds(self, classifier: Any, desk: Any, loss: str = "softmax") -> list[dict[str, Any]]:
        """Every random_state of every fitted part."""
        parts = (part.classifier.get_params() for part in model_of(classifier, desk, loss).parts)
        return [{name: value for name, value in part.items() if name.endswith("random_state")} for part in parts]

    def test_free_seeds_are_drawn_from_seed_and_repetition(self, make_separable: MakeRows, make_desk: Any) -> None:
        rows, nested = make_separable(), make_pipeline(MaxAbsScaler(), OneVsRestClassifier(SGDClassifier()))
        desks = [make_desk(rows, seed=s, repetition=r) for s, r in ((0, 0), (0, 0), (1, 0), (0, 1))]
        drawn = [self.seeds(nested, desk)[0]["onevsrestclassifier__estimator__random_state"] for desk in desks]
        assert drawn[0] == drawn[1]
        assert len(set(drawn)) == 3

    def test_seeds_that_were_set_are_kept(self, make_separable: MakeRows, make_desk: Any) -> None:
        for r in range(2):
            desk = make_desk(make_separable(), repetition=r)
            assert self.seeds(SGDClassifier(random_state=7), desk) == [{"random_state": 7}]

    def test_every_bucket_has_its_own_seed(self, make_separable: MakeRows, make_desk: Any) -> None:
        seeds = self.seeds(SGDClassifier(), make_desk(make_separable()), "bce")
        assert len(seeds) == len({part["random_state"] for part in seeds}) == 6


def test_bce_stops_between_buckets(make_separable: MakeRows, make_desk: Any, make_monitor: Any) -> None:
    monitor, learner = make_monitor(4), SklearnLearner(MultinomialNB(), "bce")
    assert learner.train(make_desk(make_separable()).task(monitor)) is None
    assert [progress.done for _, progress in monitor.reports] == [0, 50, 100, 150]  # of 300 rows, by 6 buckets


def test_no_label_at_all_is_an_error(make_separable: MakeRows, make_desk: Any) -> None:
    rows = make_separable()
    empty = replace(rows.labels, indptr=np.zeros(301, np.int64), indices=rows.labels.indices[:0])
    with pytest.raises(InputError, match="no training row has a label"):
        model_of(MultinomialNB(), make_desk(replace(rows, labels=empty)))


def test_one_score_a_pair_of_classes_is_an_error(make_separable: MakeRows, make_desk: Any) -> None:
    pairs = SVC(decision_function_shape="ovo")
    for n_buckets in (3, 6):  # three classes make three pairs
        desk = make_desk(make_separable(n_buckets=n_buckets))
        with pytest.raises(
            ParameterError, match="SVC returns one per pair of classes; set decision_function_shape='ovr'"
        ):
            model_of(pairs, desk)
        with pytest.raises(ParameterError, match="Pipeline returns one per pair of classes"):
            model_of(make_pipeline(MaxAbsScaler(), pairs), desk)


@pytest.mark.parametrize(("n_buckets", "loss"), [(2, "softmax"), (3, "bce")])
def test_two_classes_have_one_score_whatever_pairs_are(
    make_separable: MakeRows, make_desk: Any, n_buckets: int, loss: str
) -> None:
    rows = make_separable(n_buckets=n_buckets)
    given, expected = (
        model_of(SVC(decision_function_shape=shape), make_desk(rows), loss).probabilities(rows.features)
        for shape in ("ovo", "ovr")
    )
    np.testing.assert_array_equal(given, expected)


class TwoScores(DummyClassifier):  # type: ignore[misc]  # scikit-learn has no types
    """Has two columns whatever the classes are."""

    def predict_proba(self, X: Any) -> np.ndarray:
        return np.full((X.shape[0], 2), 0.5)


def test_another_number_of_scores_than_classes_is_an_error(make_separable: MakeRows, make_desk: Any) -> None:
    with pytest.raises(ParameterError, match="TwoScores returns 2 for 6 classes"):
        model_of(TwoScores(), make_desk(make_separable()))


def test_what_has_scores_only_once_fitted(make_separable: MakeRows, make_desk: Any) -> None:
    rows, steps = make_separable(), [("nb", MultinomialNB()), ("svc", SVC(decision_function_shape="ovo"))]
    assert not hasattr(StackingClassifier(steps), "predict_proba")
    best = model_of(StackingClassifier(steps, cv=2), make_desk(rows)).probabilities(rows.features).argmax(axis=1)
    assert (best == rows.hashes.buckets(rows.labels.indices, 0)).mean() > 0.9
    with pytest.raises(ParameterError, match="predict_proba or decision_function; VotingClassifier with these"):
        model_of(VotingClassifier(steps, voting="hard"), make_desk(rows))


@pytest.mark.parametrize("given", [GaussianNB(), HistGradientBoostingClassifier()], ids=lambda it: type(it).__name__)
def test_sparse_rows_that_the_learner_does_not_take(make_separable: MakeRows, make_desk: Any, given: Any) -> None:
    with pytest.raises(InputError, match=f"{type(given).__name__} takes no sparse rows: pass dense ones .* another"):
        model_of(given, make_desk(make_separable()))


def test_other_type_errors_are_left_as_they_are(make_separable: MakeRows, make_desk: Any) -> None:
    class Wrong(DummyClassifier):  # type: ignore[misc]  # scikit-learn has no types
        def fit(self, X: Any, y: Any) -> Any:
            raise TypeError("something else")

    with pytest.raises(TypeError, match="something else"):
        model_of(Wrong(), make_desk(make_separable()))


def test_it_cannot_be_stored(make_separable: MakeRows, make_desk: Any) -> None:
    with pytest.raises(NotStorable, match="'sklearn MultinomialNB' does not consist of plain arrays"):
        model_of(MultinomialNB(), make_desk(make_separable())).arrays()


@pytest.mark.parametrize(
    "given",
    ["forest", None, 3, LogisticRegression, LinearRegression(), KMeans(), IsolationForest(), MaxAbsScaler(), object()],
    ids=lambda given: getattr(given, "__name__", type(given).__name__),
)
def test_what_is_no_classifier_is_refused(given: Any) -> None:
    with pytest.raises(ParameterError, match="must be 'auto', 'network', 'linear' or a scikit-learn classifier"):
        SklearnLearner(given)


def test_perceptrons_and_other_classifiers_with_scores_only(make_separable: MakeRows, make_desk: Any) -> None:
    rows = make_separable()
    best = model_of(Perceptron(), make_desk(rows)).probabilities(rows.features).argmax(axis=1)
    assert (best == rows.hashes.buckets(rows.labels.indices, 0)).mean() > 0.9
