"""Fitting in memory: from checked rows and targets to models, without a model folder."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.utils.validation import _check_sample_weight

from xmach.data import Columns, Dataset
from xmach.data.labels.targets import Targets
from xmach.errors import InputError, ParameterError
from xmach.executors import Board, Executor
from xmach.features import VocabularyText, featurizer
from xmach.features.blocks import check_texts
from xmach.files import scratch_folder
from xmach.learners import Outcome
from xmach.parameters import real
from xmach.predictor import Predictor, text_list
from xmach.training import Job, train
from xmach.types import AnyArray, BucketModel, FloatArray, IntArray, Rows, TextRows, take_rows


def is_text(X: Any) -> bool:
    """Whether X is a list, an array or a Series of str."""
    if hasattr(X, "to_pylist"):  # of Arrow, whose own strings are no str
        X = X[:1].to_pylist()
    flat = isinstance(X, list | tuple) or getattr(X, "ndim", 0) == 1
    return flat and len(X) > 0 and isinstance(next(iter(X)), str)


def dataset_of(rows: Rows, targets: Targets, sample_weight: Any) -> Dataset:
    """The rows to learn from; rows of weight 0 are left out, as if they had not been given."""
    labels = targets.labels
    if rows.shape[0] != labels.n_rows:
        raise InputError(f"X has {rows.shape[0]} rows, y has {labels.n_rows}: inconsistent numbers of samples")
    if sample_weight is None:
        return Dataset(rows, labels)
    weights, used = _used_rows(sample_weight, labels.n_rows)
    if len(used) == labels.n_rows:
        return Dataset(rows, labels, weights=weights)
    return Dataset(take_rows(rows, used), labels.take(used), weights=weights[used])


def _used_rows(sample_weight: Any, n_rows: int) -> tuple[FloatArray, IntArray]:
    """The weights of all rows, and the rows that have any."""
    weights = _check_sample_weight(sample_weight, np.empty((n_rows, 1)), dtype=np.float32, ensure_non_negative=True)
    used = np.flatnonzero(weights)
    if not len(used):
        raise InputError("sample_weight is zero for every row: there is nothing to learn from")
    return weights, used


def split_rows(share: Any, n_rows: int, seed: int) -> tuple[IntArray, IntArray]:
    """The rows to train on and those to validate on, where these are a share of all."""
    share = real("validation", share, 0.0, 1.0, with_low=False)
    held_out = round(share * n_rows)
    if not 0 < held_out < n_rows:
        raise ParameterError(f"validation={share} leaves no row to train on or to validate on ({n_rows} rows)")
    order = np.random.default_rng([seed, 0x5EED]).permutation(n_rows)
    return np.sort(order[held_out:]), np.sort(order[:held_out])


def ready_text(features: Any, X: Any, sample_weight: Any, validation: Any, seed: int) -> TextRows | None:
    """What makes rows of texts; a vocabulary is learned from what is trained on: no rows held out, none of weight 0."""
    text = None if features is None else featurizer(features)
    if not isinstance(text, VocabularyText) or text.is_learned:
        return text
    texts = text_list(X)
    check_texts(texts)
    rows = np.arange(len(texts)) if sample_weight is None else _used_rows(sample_weight, len(texts))[1]
    if validation is not None and not isinstance(validation, tuple | list):
        rows = rows[split_rows(validation, len(rows), seed)[0]]
    return text.learn(texts if len(rows) == len(texts) else [texts[row] for row in rows])


def stored_names(classes: AnyArray) -> AnyArray | None:
    """Class names, or None where they are just 0..K-1."""
    plain = classes.dtype.kind in "iu" and bool(np.array_equal(classes, np.arange(len(classes))))
    return None if plain else classes


def train_in_memory(job: Job, executor: Executor) -> dict[int, Outcome]:
    """Train every repetition and hold the models; worker processes share one copy of the rows in a temporary folder."""
    repetitions = list(range(job.plan.hashes.n_repetitions))
    board = Board.for_repetitions(repetitions)
    try:
        if executor.workers == 1:
            return train(job, repetitions, executor, board)
        with scratch_folder() as folder:
            data = job.data.save(folder / "data")
            validation = None if job.validation is None else job.validation.save(folder / "validation")
            shared = Job(job.plan, job.learner, data, validation, job.scaler)
            return train(shared, repetitions, executor, board)
    finally:
        board.close()


def with_columns(job: Job, names: Iterable[str] | None) -> Job:
    """The job with the columns of a DataFrame in its plan, as if it had been read from a file of such columns."""
    if names is None:
        return job
    return replace(job, plan=replace(job.plan, columns=Columns(features=tuple(map(str, names))).to_dict()))


def predictor_of(job: Job, models: Sequence[BucketModel], text: TextRows | None, targets: Targets) -> Predictor:
    """The predictor of trained models; estimator and threshold are still to be settled."""
    return Predictor(
        models=tuple(models),
        hashes=job.plan.hashes,
        scaler=job.scaler,
        label_counts=job.data.label_counts(),
        label_names=targets.classes,
        text=text,
        multilabel=targets.multilabel,
        mean_labels=job.plan.mean_labels,
        feature_names=None if job.plan.columns is None else tuple(job.plan.columns["features"]),
    )
