"""Any scikit-learn classifier as a learner: one clone per repetition, never the user's own object."""

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


class FittedPart(NamedTuple):
    """A fitted classifier and the buckets that its last classes stand for."""

    buckets: IntArray  # (C,); with bce one bucket, the second class of "not this bucket", "this bucket"
    classifier: Any | None  # None: every training row had these buckets, so they are certain


@dataclass(frozen=True, eq=False)
class SklearnModel:
    """Fitted scikit-learn classifiers as a bucket model; it works in memory and cannot be stored.

    A bucket without training rows has probability 0, its share of the rows. All its labels are unseen and ranked last,
    whatever they score. With `include_unseen`, 0 is the right value for each way of scoring: for `mean` and `median`
    one empty bucket is one vote against the label, for `min` it is proof (count-min: an empty cell was never counted
    into), and `log` reads it as its floor, log 1e-30, which is finite.
    """

    kind: str
    n_features: int
    n_buckets: int
    sparse: bool  # the form of the training rows; other rows are converted to it, as not every classifier takes both
    parts: tuple[FittedPart, ...]

    def probabilities(self, rows: Rows) -> FloatArray:
        """Return the (n, B) bucket probabilities; they sum to 1 with softmax and are independent with bce."""
        n_rows, width = rows.shape
        if width != self.n_features:
            raise InputError(f"the model was trained on {self.n_features} features, the rows have {width}")
        X = as_matrix(rows, self.sparse)
        out = np.zeros((n_rows, self.n_buckets), np.float32)
        for buckets, classifier in self.parts:
            out[:, buckets] = 1.0 if classifier is None else class_probabilities(classifier, X)[:, -len(buckets) :]
        return out

    def arrays(self) -> dict[str, FloatArray]:
        """Raise `NotStorable`: a scikit-learn classifier does not consist of plain arrays."""
        raise NotStorable(f"a bucket model of kind {self.kind!r} does not consist of plain arrays and cannot be saved")


@dataclass(frozen=True, eq=False)
class SklearnLearner:
    """Trains bucket models with clones of a scikit-learn classifier.

    `softmax`: one classifier for all buckets. A row with several buckets becomes one copy per bucket, weighted by the
    share of the bucket in the row; rows without labels are left out. `bce`: one classifier per bucket, on all rows.
    OneVsRestClassifier is not used because it takes no row weights unless metadata routing is enabled for the whole
    process, and because classifiers with multilabel support return results of different shapes.

    Each `random_state` that is None is drawn for the repetition. One that the user set is kept: equal seeds do no
    harm, because every repetition has different targets.
    """

    classifier: Any
    loss: Loss = "softmax"

    def __post_init__(self) -> None:
        given = self.classifier
        known = isinstance(given, BaseEstimator) and is_classifier(given)
        # the type is checked, too: some, such as StackingClassifier, have the method only once fitted
        if not known or not any(hasattr(owner, name) for owner in (given, type(given)) for name in _SCORES):
            raise ParameterError(
                "learner must be 'auto', 'network', 'linear' or a scikit-learn classifier (an object, not its class) "
                f"with predict_proba or decision_function, got {given!r}"
            )

    @property
    def kind(self) -> str:
        """The name of the learner, for plans and messages."""
        return f"sklearn {type(self.classifier).__name__}"

    def train(self, task: Task) -> Outcome | None:
        """Fit to the end; None if the monitor asks to stop first. Nothing is saved: a fit cannot be resumed."""
        sparse = isinstance(task.rows.features, SparseRows)
        parts = self._fit_all_buckets(task, sparse) if self.loss == "softmax" else self._fit_each_bucket(task, sparse)
        if parts is None:
            return None
        return Outcome(SklearnModel(self.kind, task.n_features, task.n_buckets, sparse, tuple(parts)), [])

    def _fit_all_buckets(self, task: Task, sparse: bool) -> list[FittedPart] | None:
        if not _should_continue(task, 0, 1):
            return None
        batch = task.rows.batch(np.arange(task.rows.n_rows))
        which, buckets, weights = _copies(task.rows, batch, self._takes_weights)
        if not len(which):
            raise InputError("no training row has a label: there is nothing to learn from")
        fitted = self._fit(task, as_matrix(take_rows(batch.rows, which), sparse), buckets, weights, 0)
        _report(task, 1, 1)
        return [FittedPart(np.unique(buckets), fitted)]

    def _fit_each_bucket(self, task: Task, sparse: bool) -> list[FittedPart] | None:
        given, parts = task.rows.weights, []
        batch = task.rows.batch(np.arange(task.rows.n_rows) if given is None else np.flatnonzero(given))
        plain = _all_equal(batch.weights) and (batch.weights[0] == 1.0 or not self._takes_weights)
        X, weights = as_matrix(batch.rows, sparse), None if plain else batch.weights
        holders = np.repeat(np.arange(len(batch.weights)), np.diff(batch.targets.offsets))
        buckets = batch.targets.buckets[: len(holders)]
        present = np.unique(buckets)
        for done, bucket in enumerate(present):
            if not _should_continue(task, done, len(present)):
                return None
            y = np.zeros(len(batch.weights), np.int64)
            y[holders[buckets == bucket]] = 1
            parts.append(FittedPart(np.array([bucket]), self._fit(task, X, y, weights, int(bucket))))
        _report(task, 1, 1)
        return parts

    def _fit(self, task: Task, X: Any, y: IntArray, weights: FloatArray | None, position: int) -> Any | None:
        """Return a fitted clone; None if there is only one class, which scikit-learn classifiers reject."""
        classes = np.unique(y)
        if len(classes) == 1:
            return None
        if weights is not None and not self._takes_weights:
            raise InputError(
                f"{type(self.classifier).__name__}.fit takes no sample_weight, but rows or labels have unequal weights"
                "; remove the weights, or choose another learner"
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
                f"{name} takes no sparse rows: pass dense ones (X.toarray()), or choose another learner"
            ) from None
        _check_scores(fitted, X[:1], len(classes))
        return fitted

    @property
    def _takes_weights(self) -> bool:
        return _weight_argument(self.classifier) is not None


def as_matrix(rows: Rows, sparse: bool) -> Any:
    """Convert rows for scikit-learn: to a CSR matrix, or to a dense array."""
    if not isinstance(rows, SparseRows):
        return sp.csr_matrix(rows) if sparse else rows
    matrix = sp.csr_matrix((rows.values, rows.indices, rows.indptr), shape=rows.shape, copy=False)
    return matrix if sparse else matrix.toarray()


def class_probabilities(classifier: Any, X: Any) -> AnyArray:
    """Return (n, C) probabilities: predict_proba, or else the softmax of the scores (the sigmoid for two classes).

    The latter sum to 1, but are not calibrated.
    """
    if hasattr(classifier, "predict_proba"):
        probabilities: AnyArray = classifier.predict_proba(X)
        return probabilities
    scores = np.array(classifier.decision_function(X), np.float32)  # a copy
    if scores.ndim == 2:
        return softmax_in_place(scores)
    second = sigmoid_in_place(scores)
    return np.stack([1.0 - second, second], axis=1)


def _check_scores(fitted: Any, X: Any, n_classes: int) -> None:
    """Reject a fitted classifier that does not return one score per class."""
    name = type(fitted).__name__
    if not any(hasattr(fitted, scores) for scores in _SCORES):
        raise ParameterError(f"learner must have {' or '.join(_SCORES)}; {name} with these parameters has neither")
    shapes = (value for key, value in fitted.get_params().items() if key.endswith("decision_function_shape"))
    # detected from the parameter: three classes make three pairs, so the shape would look right; two have one score
    if n_classes > 2 and not hasattr(fitted, "predict_proba") and "ovo" in shapes:
        raise ParameterError(
            f"learner must return one score per class, but {name} returns one per pair of classes; set "
            "decision_function_shape='ovr', or choose another"
        )
    columns = class_probabilities(fitted, X).shape[1]
    if columns != n_classes:
        raise ParameterError(
            f"learner must return one score per class, but {name} returns {columns} for {n_classes} classes"
        )


def _copies(rows: LabelledRows, batch: Batch, weighted: bool) -> tuple[IntArray, IntArray, FloatArray | None]:
    """Return the row, bucket and weight of each copy; weights are None if all are equal.

    For a classifier that takes no weights, a row is copied once per label. The shares within a row are then right, but
    a row with more labels counts for more; unequal weights of rows or labels cannot be expressed.
    """
    if not weighted and _all_equal(batch.weights) and _all_equal(rows.labels.values):
        which = np.repeat(np.arange(rows.n_rows), np.diff(rows.labels.indptr))
        return which, rows.hashes.buckets(rows.labels.indices, rows.repetition), None
    which = np.repeat(np.arange(rows.n_rows), np.diff(batch.targets.offsets))
    weights = batch.targets.masses[: len(which)] * batch.weights[which]
    used = np.flatnonzero(weights)  # the others have no effect, and their buckets must not become classes
    buckets = batch.targets.buckets[used].astype(np.int64)
    return which[used], buckets, None if bool(np.all(weights[used] == 1.0)) else weights[used]


def _all_equal(values: AnyArray) -> bool:
    return bool(np.all(values == values[:1]))


def _weight_argument(classifier: Any) -> str | None:
    """Return the name of the row weights in `fit`, or None. In a pipeline they go to the last step."""
    if isinstance(classifier, Pipeline):
        name, last = classifier.steps[-1]
        inner = _weight_argument(last)
        return None if inner is None else f"{name}__{inner}"
    return "sample_weight" if has_fit_parameter(classifier, "sample_weight") else None


def _draw_seeds(classifier: Any, draw: np.random.Generator) -> None:
    """Draw each `random_state` that is None, nested ones too, in the order of their names."""
    free = (name for name, value in classifier.get_params().items() if value is None)
    names = sorted(name for name in free if name.split("__")[-1] == "random_state")
    classifier.set_params(**{name: int(draw.integers(2**31 - 1)) for name in names})


def _should_continue(task: Task, done: int, total: int) -> bool:
    """Report progress; return whether to continue."""
    _report(task, done, total)
    return not task.monitor.should_stop()


def _report(task: Task, done: int, total: int) -> None:
    """Report the share of the fits that are done, in rows; the loss is not known."""
    n_rows = task.rows.n_rows
    task.monitor.report(task.repetition, Progress(n_rows * done // total, n_rows, math.nan))
