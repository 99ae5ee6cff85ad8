"""Any scikit-learn classifier as a learner: one clone a repetition, never the object that the user gave."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, clone, is_classifier
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import has_fit_parameter

from xmach.errors import InputError, NotStorable, ParameterError
from xmach.learners.network import stream
from xmach.learners.task import Batch, LabelledRows, Outcome, Task
from xmach.models.network import sigmoid_in_place, softmax_in_place
from xmach.types import AnyArray, FloatArray, IntArray, Loss, Progress, Rows, SparseRows, take_rows

_SCORES = ("predict_proba", "decision_function")


class Part(NamedTuple):
    """A fitted classifier and the buckets it speaks for, which are its last classes."""

    buckets: IntArray  # (C,); with bce one bucket: the second class of "not this one", "this one"
    classifier: Any | None  # None: the buckets were in every training row, so they are certain


@dataclass(frozen=True, eq=False)
class SklearnModel:
    """Fitted scikit-learn classifiers as a bucket model; works in memory, cannot be stored.

    A bucket that no training row fell into has probability 0, its share of the rows. All its labels are unseen, and
    those come last whatever they score. Where they shall compete (`include_unseen`), 0 is what each estimator
    should read: `mean` and `median` take one empty bucket as one vote against the label, `min` as the proof it is
    (count-min: an empty cell was never counted into), `log` as its floor of log 1e-30, so that it stays finite.
    """

    kind: str
    n_features: int
    n_buckets: int
    sparse: bool  # the form of the training rows, in which others are given to classifiers: not all take both
    parts: tuple[Part, ...]

    def probabilities(self, rows: Rows) -> FloatArray:
        """The (n, B) bucket probabilities: they sum to 1 with softmax, each is its own with binary cross-entropy."""
        n_rows, width = rows.shape
        if width != self.n_features:
            raise InputError(f"the model was trained on {self.n_features} features, the rows have {width}")
        X = as_matrix(rows, self.sparse)
        out = np.zeros((n_rows, self.n_buckets), np.float32)
        for buckets, classifier in self.parts:
            out[:, buckets] = 1.0 if classifier is None else class_probabilities(classifier, X)[:, -len(buckets) :]
        return out

    def arrays(self) -> dict[str, FloatArray]:
        """Refused: a scikit-learn classifier is no plain arrays."""
        raise NotStorable(f"a bucket model of the kind {self.kind!r} is no plain arrays: it cannot be saved")


@dataclass(frozen=True, eq=False)
class SklearnLearner:
    """Learns bucket models with clones of a scikit-learn classifier.

    `softmax`: one classifier over all buckets. A row with several buckets becomes one copy a bucket, weighted with the
    bucket's share of the row; a row without labels is left out. `bce`: one classifier a bucket, on all rows. That loop
    is our own: scikit-learn's OneVsRestClassifier takes no row weights unless metadata routing is switched on for the
    whole process, and the multilabel support of single classifiers differs in the shape of its answers.

    Each `random_state` that is None is drawn anew for the repetition. One that the user set is left: R equal seeds do
    no harm, as every repetition has other targets.
    """

    classifier: Any
    loss: Loss = "softmax"

    def __post_init__(self) -> None:
        given = self.classifier
        known = isinstance(given, BaseEstimator) and is_classifier(given)
        # asked of the type, too: some know only once fitted, such as a StackingClassifier
        if not known or not any(hasattr(owner, name) for owner in (given, type(given)) for name in _SCORES):
            raise ParameterError(
                "learner must be 'network' or a scikit-learn classifier (an object, not its class) with predict_proba "
                f"or decision_function, got {given!r}"
            )

    @property
    def kind(self) -> str:
        """The name of the learner, for plans and messages."""
        return f"sklearn {type(self.classifier).__name__}"

    def train(self, task: Task) -> Outcome | None:
        """Fit to the end; None when the monitor says stop first. Nothing is saved on the way: no fit can be resumed."""
        sparse = isinstance(task.rows.features, SparseRows)
        parts = self._one_of_all(task, sparse) if self.loss == "softmax" else self._one_a_bucket(task, sparse)
        if parts is None:
            return None
        return Outcome(SklearnModel(self.kind, task.n_features, task.n_buckets, sparse, tuple(parts)), [])

    def _one_of_all(self, task: Task, sparse: bool) -> list[Part] | None:
        if not _goes_on(task, 0, 1):
            return None
        batch = task.rows.batch(np.arange(task.rows.n_rows))
        which, buckets, weights = _copies(task.rows, batch, self._takes_weights)
        if not len(which):
            raise InputError("no training row has a label: there is nothing to learn from")
        fitted = self._fit(task, as_matrix(take_rows(batch.rows, which), sparse), buckets, weights, 0)
        _report(task, 1, 1)
        return [Part(np.unique(buckets), fitted)]

    def _one_a_bucket(self, task: Task, sparse: bool) -> list[Part] | None:
        given, parts = task.rows.weights, []
        batch = task.rows.batch(np.arange(task.rows.n_rows) if given is None else np.flatnonzero(given))
        plain = _all_equal(batch.weights) and (batch.weights[0] == 1.0 or not self._takes_weights)
        X, weights = as_matrix(batch.rows, sparse), None if plain else batch.weights
        holders = np.repeat(np.arange(len(batch.weights)), np.diff(batch.targets.offsets))
        buckets = batch.targets.buckets[: len(holders)]
        present = np.unique(buckets)
        for done, bucket in enumerate(present):
            if not _goes_on(task, done, len(present)):
                return None
            y = np.zeros(len(batch.weights), np.int64)
            y[holders[buckets == bucket]] = 1
            parts.append(Part(np.array([bucket]), self._fit(task, X, y, weights, int(bucket))))
        _report(task, 1, 1)
        return parts

    def _fit(self, task: Task, X: Any, y: IntArray, weights: FloatArray | None, position: int) -> Any | None:
        """A fitted clone; None where there is one class only, which scikit-learn's classifiers refuse."""
        classes = np.unique(y)
        if len(classes) == 1:
            return None
        if weights is not None and not self._takes_weights:
            raise InputError(
                f"{type(self.classifier).__name__}.fit takes no sample_weight, but rows or labels differ in weight; "
                "leave the weights out, or choose another learner"
            )
        fitted = clone(self.classifier)
        _draw_seeds(fitted, stream(task.seed, task.repetition, "sklearn", position))
        try:
            fitted.fit(X, y, **({} if weights is None else {str(_weight_argument(fitted)): weights}))
        except TypeError as error:
            if not sp.issparse(X) or "dense data is required" not in str(error):
                raise
            name = type(fitted).__name__
            raise InputError(
                f"{name} takes no sparse rows: give dense ones (X.toarray()), or choose another learner"
            ) from None
        _check_scores(fitted, X[:1], len(classes))
        return fitted

    @property
    def _takes_weights(self) -> bool:
        return _weight_argument(self.classifier) is not None


def as_matrix(rows: Rows, sparse: bool) -> Any:
    """Rows as scikit-learn takes them: a CSR matrix, or a dense array."""
    if not isinstance(rows, SparseRows):
        return sp.csr_matrix(rows) if sparse else rows
    matrix = sp.csr_matrix((rows.values, rows.indices, rows.indptr), shape=rows.shape, copy=False)
    return matrix if sparse else matrix.toarray()


def class_probabilities(classifier: Any, X: Any) -> AnyArray:
    """(n, C): predict_proba; without it the softmax of the scores, of two classes the sigmoid. Those sum to 1, but are
    calibrated by nothing."""
    if hasattr(classifier, "predict_proba"):
        probabilities: AnyArray = classifier.predict_proba(X)
        return probabilities
    scores = np.array(classifier.decision_function(X), np.float32)  # a copy
    if scores.ndim == 2:
        return softmax_in_place(scores)
    second = sigmoid_in_place(scores)
    return np.stack([1.0 - second, second], axis=1)


def _check_scores(fitted: Any, X: Any, n_classes: int) -> None:
    """Refuse a fitted classifier that does not give one score a class."""
    name = type(fitted).__name__
    if not any(hasattr(fitted, scores) for scores in _SCORES):
        raise ParameterError(f"learner must have {' or '.join(_SCORES)}; {name} with these parameters has neither")
    shapes = (value for key, value in fitted.get_params().items() if key.endswith("decision_function_shape"))
    # told by the parameter: three classes make three pairs, so the columns would look right; two have one score
    if n_classes > 2 and not hasattr(fitted, "predict_proba") and "ovo" in shapes:
        raise ParameterError(
            f"learner must give one score a class, but {name} gives one a pair of classes; set "
            "decision_function_shape='ovr', or choose another"
        )
    columns = class_probabilities(fitted, X).shape[1]
    if columns != n_classes:
        raise ParameterError(
            f"learner must give one score a class, but {name} gives {columns} for {n_classes} classes; choose another"
        )


def _copies(rows: LabelledRows, batch: Batch, weighted: bool) -> tuple[IntArray, IntArray, FloatArray | None]:
    """Which row each copy is of, its bucket, and its weight; None: all weigh the same.

    For a classifier that takes no weights a row is copied once a label. That keeps the shares within a row right,
    though a row with more labels counts for more; rows or labels of unequal weight cannot be had that way.
    """
    if not weighted and _all_equal(batch.weights) and _all_equal(rows.labels.values):
        which = np.repeat(np.arange(rows.n_rows), np.diff(rows.labels.indptr))
        return which, rows.hashes.buckets(rows.labels.indices, rows.repetition), None
    which = np.repeat(np.arange(rows.n_rows), np.diff(batch.targets.offsets))
    weights = batch.targets.masses[: len(which)] * batch.weights[which]
    used = np.flatnonzero(weights)  # from the others nothing is learnt, and their buckets are not to be classes
    buckets = batch.targets.buckets[used].astype(np.int64)
    return which[used], buckets, None if bool(np.all(weights[used] == 1.0)) else weights[used]


def _all_equal(values: AnyArray) -> bool:
    return bool(np.all(values == values[:1]))


def _weight_argument(classifier: Any) -> str | None:
    """What `fit` calls row weights; None where it takes none. In a pipeline they go to the last step."""
    if isinstance(classifier, Pipeline):
        name, last = classifier.steps[-1]
        inner = _weight_argument(last)
        return None if inner is None else f"{name}__{inner}"
    return "sample_weight" if has_fit_parameter(classifier, "sample_weight") else None


def _draw_seeds(classifier: Any, draw: np.random.Generator) -> None:
    """Give each `random_state` that is None a number, nested ones too, in the order of their names."""
    free = (name for name, value in classifier.get_params().items() if value is None)
    names = sorted(name for name in free if name.split("__")[-1] == "random_state")
    classifier.set_params(**{name: int(draw.integers(2**31 - 1)) for name in names})


def _goes_on(task: Task, done: int, total: int) -> bool:
    """Report, and ask whether to go on."""
    _report(task, done, total)
    return not task.monitor.should_stop()


def _report(task: Task, done: int, total: int) -> None:
    """The share of the fits done, in rows; no loss is known."""
    n_rows = task.rows.n_rows
    task.monitor.report(task.repetition, Progress(n_rows * done // total, n_rows, math.nan))
