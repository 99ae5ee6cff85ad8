"""`MACHClassifier`: training and a predictor behind scikit-learn's interface."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import get_tags
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from xmach.buckets import RANDOM, clustered_repetitions
from xmach.data import Dataset
from xmach.data.arrays import as_rows, check_numbers, check_structure
from xmach.data.labels.targets import Targets, encode_targets
from xmach.decoding import Candidates, Explanation
from xmach.errors import InputError, ParameterError
from xmach.estimator.fitting import (
    dataset_of,
    is_text,
    predictor_of,
    ready_text,
    split_rows,
    stored_names,
    train_in_memory,
    with_columns,
)
from xmach.estimator.settings import executor_of, network_settings, seed_of, wrapped
from xmach.evaluation import settle
from xmach.features import fit_scaler
from xmach.metrics import precision_at_k
from xmach.predictor import Predictor, text_rows
from xmach.store import ModelStore, load, replacing
from xmach.training import plan_training
from xmach.types import AnyArray, DoubleArray, FloatArray, IntArray, Rows, TextRows, TopK


class MACHClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """Extreme classification in log memory: R small B-way classifiers over hashed labels (MACH, NeurIPS 2019).

    Parameters
    ----------
    n_buckets : int
        B, the buckets that labels are hashed into; from 2 up. More buckets: fewer collisions, more memory.
    n_repetitions : int
        R, the number of independent hashes and classifiers; accuracy rises with it.
    bucketing : "random", "mixed" or "clustered"
        `random`: by the hashes, as in the paper. `clustered`: labels whose rows are alike share a bucket, which is
        easier to learn where labels have few rows and finds more of the right labels among the first 100, but tells
        them apart less well; `mixed`: every second repetition. Either keeps tables of K x R buckets.
    hidden : tuple of int
        Widths of the hidden layers; `()` is logistic regression.
    loss : "auto", "softmax" or "bce"
        Softmax cross-entropy (a row's target is spread over the buckets of its labels), or binary cross-entropy.
        `auto` is softmax: on the data sets in the docs it was as good or better for multilabel data, too.
    epochs, batch_size, learning_rate, weight_decay, dropout
        Adam, its rate decaying to zero. Small data use smaller batches, so that an epoch has at least 100 steps.
    skip_below : float
        Output gradients under it are rounded to 0 or to it, right on average, and the zeros are skipped: faster where
        n_buckets is large. 0.01 is a fair value; 0 skips nothing. Needs softmax and a hidden layer.
    learner : "network" or a scikit-learn classifier
        What learns a repetition. A classifier with predict_proba or decision_function (a pipeline, too) is cloned for
        each and never fitted itself; `hidden` and what belongs to Adam do not apply, `loss` does: with softmax a row
        is copied for each of its buckets, with bce there is one classifier a bucket. A `random_state` of None in it is
        drawn from ours, one that is set is kept. Such a model works in memory and pickles; `save` refuses it.
    scaling : "auto", "none", "tfidf" or "l2"
        `auto`: sublinear tf-idf and unit length for sparse input without negative values, otherwise none.
    features : None, "text", "paper", HashedText or VocabularyText
        What makes rows where X is a list of str. `"text"`: word unigrams, word bigrams and character trigrams, hashed.
        `"paper"`: the same by a vocabulary of the most frequent, learned from X, as in the paper. Or either with
        settings of its own (`xmach.features`).
    estimator : "auto", "mean", "min", "median" or "log"
        How a label's score is read from its R buckets; `auto`: the best on validation rows, `log` without them.
    validation : None, a fraction, or (X, y)
        Rows to stop the network early on, and to choose the estimator and the multilabel threshold on.
    n_jobs : int or None
        Repetitions trained at a time, each in its own process; None is 1, -1 is one for each core.
    random_state : int, RandomState or None
        Same number, same model, whatever n_jobs is.

    Attributes
    ----------
    classes_ : the labels, by id
    predictor_ : what answers; `save` writes it
    history_ : for each repetition, the losses of its epochs; a classifier's has none
    """

    def __init__(
        self,
        n_buckets: int = 2000,
        n_repetitions: int = 16,
        hidden: Sequence[int] = (500,),
        loss: str = "auto",
        epochs: int = 10,
        batch_size: int = 256,
        learning_rate: float = 2e-3,
        weight_decay: float = 0.0,
        dropout: float = 0.0,
        learner: Any = "network",
        scaling: str = "auto",
        features: Any = None,
        estimator: str = "auto",
        validation: Any = None,
        n_jobs: int | None = None,
        random_state: Any = 0,
        skip_below: float = 0.0,
        bucketing: str = "random",
    ) -> None:
        self.n_buckets = n_buckets
        self.n_repetitions = n_repetitions
        self.hidden = hidden
        self.loss = loss
        self.epochs = epochs
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.weight_decay = weight_decay
        self.dropout = dropout
        self.learner = learner
        self.scaling = scaling
        self.features = features
        self.estimator = estimator
        self.validation = validation
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.skip_below = skip_below
        self.bucketing = bucketing

    # --- training

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> MACHClassifier:
        """Train on rows X and their labels y: a class vector, a 0/1 matrix (sparse or dense), or lists of labels."""
        settings = network_settings(self.get_params(deep=False))
        learner, executor = wrapped(self.learner, settings), executor_of(self.n_jobs)
        seed = seed_of(self.random_state)
        text = ready_text(self.features, X, sample_weight, self.validation, seed)
        rows = self._rows(X, text, first=True)
        targets = encode_targets(y)
        data = dataset_of(rows, targets, sample_weight)
        data, validation = self._split(data, targets, text, seed)
        if self.n_buckets > data.n_labels:
            warnings.warn(
                f"n_buckets={self.n_buckets} is more than the {data.n_labels} classes: hashing saves nothing here",
                UserWarning,
                stacklevel=2,
            )
        if self.bucketing != RANDOM and not clustered_repetitions(self.bucketing, self.n_repetitions):
            warnings.warn(
                f"with one repetition, bucketing={self.bucketing!r} is random buckets", UserWarning, stacklevel=2
            )
        scaler = fit_scaler(data.features, self.scaling)
        job = plan_training(
            data, settings, self.n_buckets, self.n_repetitions, seed, scaler, validation,
            multilabel=targets.multilabel, features=None if text is None else text.to_dict(), fingerprints=False,
            learner=learner, bucketing=self.bucketing,
        )  # fmt: skip
        job = with_columns(job, None if text is not None else getattr(self, "feature_names_in_", None))
        outcomes = [outcome for _, outcome in sorted(train_in_memory(job, executor).items())]
        self.history_ = [outcome.history for outcome in outcomes]
        self.classes_ = targets.classes
        trained = predictor_of(job, [outcome.model for outcome in outcomes], text, targets)
        self.predictor_, _ = settle(trained, validation, self.estimator)
        self._plan, self._form = job.plan, targets.form
        if text is not None:
            self.n_features_in_ = text.n_features
        return self

    def _split(
        self, data: Dataset, targets: Targets, text: TextRows | None, seed: int
    ) -> tuple[Dataset, Dataset | None]:
        """Training and validation rows, as `validation` says."""
        if self.validation is None:
            return data, None
        if isinstance(self.validation, tuple | list):
            if len(self.validation) != 2:
                raise ParameterError(f"validation must be a fraction or (X, y), got {len(self.validation)} things")
            X, y = self.validation
            return data, dataset_of(self._rows(X, text), encode_targets(y, targets.classes), None)
        kept, held_out = split_rows(self.validation, data.n_rows, seed)
        return data.take(kept), data.take(held_out)

    # --- prediction

    def top_k(
        self,
        X: Any,
        k: int = 5,
        *,
        estimator: str | None = None,
        probabilities: bool = False,
        include_unseen: bool = False,
        candidates: Candidates | None = None,
        threads: int | None = None,
    ) -> TopK:
        """The k best labels of each row: `.labels`, `.scores` and `.ids`, each (n, k).

        See `Predictor.top_k` for the options. `candidates`: rank only these labels, given as names (strings) or ids
        (integers, positions in `classes_`): a list for all rows, or a list of lists, one per row.
        """
        predictor = self._fitted()
        options: dict[str, Any] = {"estimator": estimator, "probabilities": probabilities}
        options |= {"include_unseen": include_unseen, "candidates": candidates, "threads": threads}
        return predictor.top_k(self._rows(X, predictor.text), k, **options)

    def predict(self, X: Any) -> Any:
        """The best class of each row; multilabel: a 0/1 matrix.

        There the labels whose score reaches the threshold chosen on validation rows; without those the m best, m the
        mean number of labels of a training row. Sparse, unless y was a dense matrix.
        """
        predicted = self._fitted().predict(self._rows(X, self._fitted().text))
        return predicted.toarray() if self._form == "dense" else predicted

    def predict_proba(self, X: Any) -> DoubleArray:
        """The (n, K) probabilities of all classes, each row normalised to 1; for many classes use `top_k`."""
        predictor = self._fitted()
        return predictor.predict_proba(self._rows(X, predictor.text))

    def explain(self, x: Any, label: Any, *, estimator: str | None = None) -> Explanation:
        """Why a label has its score for one text or row: buckets, labels that share them, and words.

        See `Predictor.explain`.
        """
        return self._fitted().explain(x, label, estimator=estimator)

    def ids_of(self, names: Sequence[Any] | AnyArray) -> IntArray:
        """The ids of label names: their positions in `classes_`. Raise `InputError` if a name is not a class."""
        return self._fitted().ids_of(names)

    @property
    def label_names(self) -> AnyArray:
        """The (K,) label names by id: `classes_`."""
        check_is_fitted(self, "classes_")
        classes: AnyArray = self.classes_
        return classes

    def bucket_probabilities(self, X: Any) -> FloatArray:
        """The sketch itself: the (n, R, B) bucket probabilities."""
        return self._fitted().bucket_probabilities(self._rows(X, self._fitted().text))

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Precision at 1: for classes the accuracy, for label sets how often the best label is one of the row's."""
        best = self.top_k(X, 1).ids
        weights = None if sample_weight is None else _check_sample_weight(sample_weight, best, dtype=np.float64)
        return precision_at_k(encode_targets(y, self.classes_).labels, best, 1, weights)

    def save(self, folder: str | Path, overwrite: bool = False) -> None:
        """Write the model into a folder for `xmach.load` and the commands; `overwrite` replaces a model there."""
        predictor = self._fitted()
        with replacing(Path(folder), overwrite) as store:
            names = stored_names(self.classes_)
            store.begin(self._plan, predictor.label_counts, names, predictor.scaler, predictor.text)
            for r, (model, history) in enumerate(zip(predictor.models, self.history_, strict=True)):
                store.put(r, model, history)
            store.finish(predictor.estimator, predictor.threshold, {})

    @classmethod
    def load(cls, folder: str | Path, *, verify: bool = True) -> MACHClassifier:
        """The fitted classifier in a model folder, with the parameters of its plan; the weights are memory-mapped.

        `predict` gives a sparse matrix for multilabel models: a folder does not record whether y was dense.
        Raise `ModelCorrupt` if a checksum differs; `verify=False` skips this check.
        """
        store, predictor = ModelStore(Path(folder)), load(folder, verify=verify)
        plan, text = store.plan(), predictor.text
        known = vars(plan.settings) | {
            "n_buckets": plan.hashes.n_buckets, "n_repetitions": plan.hashes.n_repetitions, "scaling": plan.scaling,
            "features": text, "estimator": predictor.estimator, "random_state": plan.seed, "learner": plan.learner,
            "bucketing": plan.bucketing,
        }  # fmt: skip
        model = cls(**{name: known[name] for name in cls._get_param_names() if name in known})
        names = predictor.label_names
        model.classes_ = np.arange(predictor.n_labels) if names is None else np.array(list(names))
        model.history_ = [store.history(r) for r in range(plan.hashes.n_repetitions)]
        model.predictor_, model._plan = predictor, plan
        model._form = "sparse" if plan.multilabel else "classes"
        model.n_features_in_ = predictor.n_features
        if predictor.feature_names is not None:
            model.feature_names_in_ = np.array(predictor.feature_names, object)
        return model

    # --- at the door

    def _fitted(self) -> Predictor:
        check_is_fitted(self, "predictor_")
        predictor: Predictor = self.predictor_
        return predictor

    def _rows(self, X: Any, text: TextRows | None, first: bool = False) -> Rows:
        """X as checked rows; the first time its width and column names are remembered."""
        if text is not None:
            return text_rows(X, text)
        if is_text(X):
            raise InputError("X is a list of texts: give MACHClassifier features='text', or vectorise the texts first")
        check_structure(X)
        check_numbers(X)
        checked = validate_data(
            self, X, accept_sparse=["csr", "csc"], dtype="numeric", ensure_all_finite=False, reset=first
        )
        return as_rows(checked)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        theirs = get_tags(self.learner).input_tags if isinstance(self.learner, BaseEstimator) else None
        tags.input_tags.sparse = theirs is None or theirs.sparse
        tags.input_tags.positive_only = theirs is not None and theirs.positive_only
        tags.input_tags.string = tags.input_tags.one_d_array = self.features is not None
        tags.classifier_tags.multi_label = True
        return tags
