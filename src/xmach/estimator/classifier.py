"""`MACHClassifier`: training and a predictor behind scikit-learn's interface."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import get_tags
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from xmach.config import DEFAULTS
from xmach.data import Dataset
from xmach.data.arrays import as_rows, check_numbers, check_structure
from xmach.data.labels.targets import Targets, encode_targets
from xmach.decoding import Candidates, Explanation
from xmach.errors import InputError, ParameterError
from xmach.estimator.inputs import (
    config_of,
    dataset_of,
    is_text,
    parameter_docs,
    ready_text,
    split_rows,
    with_columns,
    workers_of,
)
from xmach.estimator.label_texts import join_label_text
from xmach.estimator.saving import plan_parameters, write_model
from xmach.metrics import precision_at_k
from xmach.predictor import Predictor, text_rows
from xmach.store import ModelStore, load
from xmach.training import fit
from xmach.types import AnyArray, DoubleArray, FloatArray, IntArray, Rows, TextRows, TopK


class MACHClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    __doc__ = f"""Extreme classification in log memory: R small B-way classifiers over hashed labels (MACH).

    Parameters
    ----------
{parameter_docs()}
    features : None, "text", "paper", HashedText or VocabularyText
        The vectorizer, if X is a list of str. `"text"`: word unigrams, word bigrams and character trigrams, hashed.
        `"paper"`: the same with a vocabulary of the most frequent tokens, learned from X, as in the paper. Or either
        with its own settings (`xmach.features`).
    validation : None, a fraction, or (X, y)
        Rows to stop the network early on, and to choose the estimator and the multilabel threshold on.
    n_jobs : int or None
        Repetitions trained at a time, each in its own process; None is 1, -1 is one for each core.
    random_state : int, RandomState or None
        Same number, same model, whatever n_jobs is.

    Notes
    -----
    A classifier given as `learner` needs predict_proba or decision_function (a pipeline works, too) and is never
    fitted itself. `hidden` and Adam's parameters do not apply to it, `loss` does: with softmax a row is copied for each
    of its buckets, with bce there is one classifier per bucket. A `random_state` of None in it is drawn from ours. Such
    a model works in memory and pickles; `save` raises `NotStorable`.

    Attributes
    ----------
    classes_ : the labels, by id
    predictor_ : what answers; `save` writes it
    history_ : for each repetition, the losses of its epochs; empty for a wrapped classifier
    """

    def __init__(
        self,
        n_buckets: int | str = DEFAULTS.n_buckets,
        n_repetitions: int | str = DEFAULTS.n_repetitions,
        hidden: Sequence[int] | str = DEFAULTS.hidden,
        loss: str = DEFAULTS.loss,
        epochs: int | str = DEFAULTS.epochs,
        batch_size: int = DEFAULTS.batch_size,
        learning_rate: float | str = DEFAULTS.learning_rate,
        weight_decay: float = DEFAULTS.weight_decay,
        dropout: float = DEFAULTS.dropout,
        learner: Any = DEFAULTS.learner,
        scaling: str = DEFAULTS.scaling,
        features: Any = None,
        estimator: str = DEFAULTS.estimator,
        validation: Any = None,
        n_jobs: int | None = None,
        random_state: Any = DEFAULTS.seed,
        skip_below: float = DEFAULTS.skip_below,
        bucketing: str = DEFAULTS.bucketing,
        linear_loss: str = DEFAULTS.linear_loss,
        cost: float | str = DEFAULTS.cost,
        passes: int | str = DEFAULTS.passes,
        prune_below: float = DEFAULTS.prune_below,
        store_bits: int | str = DEFAULTS.store_bits,
        ranker: str = DEFAULTS.ranker,
        ranker_bytes: int | None = DEFAULTS.ranker_bytes,
        ranker_goal: str = DEFAULTS.ranker_goal,
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
        self.linear_loss = linear_loss
        self.cost = cost
        self.passes = passes
        self.prune_below = prune_below
        self.store_bits = store_bits
        self.ranker = ranker
        self.ranker_bytes = ranker_bytes
        self.ranker_goal = ranker_goal

    # --- training

    def fit(self, X: Any, y: Any, sample_weight: Any = None, label_text: Any = None) -> MACHClassifier:
        """Train on rows X and their labels y: a class vector, a 0/1 matrix (sparse or dense), or lists of labels.

        If X are texts, `label_text` gives labels a text of their own, such as the title of a product: a mapping from
        label to text, a Series with the labels as its index, or a list of pairs. Labels that are not in y join
        `classes_`, which stays sorted. If y is a matrix, labels are its columns (their numbers or names), and no others
        can join.
        """
        config, workers = config_of(self.get_params(deep=False)), workers_of(self.n_jobs)
        text = ready_text(self.features, X, sample_weight, self.validation, config.seed)
        rows = self._rows(X, text, first=True)
        targets, texts = encode_targets(y), None
        if label_text is not None:
            targets, texts = join_label_text(targets, label_text, text)
        data, validation = self._split(dataset_of(rows, targets, sample_weight), targets, text, config.seed)
        data = with_columns(data, None if text is not None else getattr(self, "feature_names_in_", None))
        fitted = fit(
            data,
            config,
            validation=validation,
            text=text,
            multilabel=targets.multilabel,
            workers=workers,
            label_text=texts,
        )
        assert fitted.predictor is not None
        self.history_ = [history for _, history in sorted(fitted.history.items())]
        self.classes_ = targets.classes
        self.predictor_ = replace(fitted.predictor, label_names=targets.classes)
        self._plan, self._form = fitted.plan, targets.form
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
        stage: str | None = None,
    ) -> TopK:
        """The k best labels of each row: `.labels`, `.scores` and `.ids`, each (n, k).

        See `Predictor.top_k` for the options. `candidates`: rank only these labels, given as names (strings) or ids
        (integers, positions in `classes_`): a list for all rows, or a list of lists, one per row.
        """
        predictor = self._fitted()
        options: dict[str, Any] = {"estimator": estimator, "probabilities": probabilities}
        options |= {"include_unseen": include_unseen, "candidates": candidates, "threads": threads, "stage": stage}
        return predictor.top_k(self._rows(X, predictor.text), k, **options)

    def predict(self, X: Any) -> Any:
        """The best class of each row; multilabel: a 0/1 matrix.

        It has the labels whose score reaches the threshold that was chosen on validation rows. Without validation
        rows it has the m best labels, where m is the mean number of labels per training row. It is sparse, unless y
        was a dense matrix.
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
        write_model(Path(folder), overwrite, self._fitted(), self._plan, self.history_, self.classes_)

    @classmethod
    def load(cls, folder: str | Path, *, verify: bool = True) -> MACHClassifier:
        """The fitted classifier in a model folder, with the parameters of its plan; the weights are memory-mapped.

        `predict` gives a sparse matrix for multilabel models: a folder does not record whether y was dense.
        Raise `ModelCorrupt` if a checksum differs; `verify=False` skips this check.
        """
        store, predictor = ModelStore(Path(folder)), load(folder, verify=verify)
        plan = store.plan()
        known = plan_parameters(plan, predictor)
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
