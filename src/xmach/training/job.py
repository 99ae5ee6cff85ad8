"""A training job: the plan that a configuration and data make, and the rows it is trained on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from threadpoolctl import threadpool_limits

from xmach.buckets import Buckets, UniversalHashes, clustered_repetitions
from xmach.config import (
    AUTO,
    BOTH,
    LEARNERS,
    LINEAR,
    LOGISTIC,
    NETWORK,
    NONE,
    PRECISION,
    SOFTMAX,
    STORE_BITS,
    MachConfig,
)
from xmach.data import Dataset, LabelTexts
from xmach.data.read.rows import row_offsets, row_order
from xmach.errors import InputError
from xmach.features import Scaler
from xmach.learners import (
    Choice,
    LabelledRows,
    Learner,
    LinearLearner,
    NetworkLearner,
    SoftmaxLearner,
    choose_settings,
)
from xmach.planning import Plan, RowFacts, available_bytes, check_memory, clustering_bytes, decide
from xmach.training.bucketing import make_buckets, mean_one
from xmach.types import Int32Array, OnProgress, SparseRows, TextRows

SOFTMAX_PASSES = 5  # docs/accuracy.md
_COUNTED_ROWS = 1000  # of dense rows, to see how many of their values are zero


@dataclass(frozen=True)
class Job:
    """A plan with the rows it is trained on."""

    plan: Plan
    learner: Learner
    data: Dataset
    validation: Dataset | None
    scaler: Scaler
    expected_weights: int | None = None  # of a repetition with hashed linear buckets, by some that were trained
    label_text: LabelTexts | None = None  # unscaled, as the rows of `data`


def plan_training(
    data: Dataset,
    config: MachConfig,
    scaler: Scaler,
    *,
    validation: Dataset | None = None,
    text: TextRows | None = None,
    multilabel: bool | None = None,
    fingerprints: bool = True,
    begun: Plan | None = None,
    on_progress: OnProgress | None = None,
    label_text: LabelTexts | None = None,
) -> Job:
    """Plan the training of `config` on `data`; tables of clustered buckets are made here.

    `text`: the vectorizer that made the rows. `multilabel=None`: multilabel unless every row has exactly one label.
    `fingerprints=False`: nothing will be resumed, so the rows are not hashed. `begun`: the plan of the run being
    resumed, whose tables are reused if everything else is the same. `on_progress(done, total)` counts tables.
    `label_text`: texts of labels, made into rows by the same vectorizer.
    """
    _check_rows(data)
    config = decide(config, facts_of(data))
    hashes = UniversalHashes.draw(data.n_labels, config.n_buckets, config.n_repetitions, config.seed)
    validation = None if validation is None else aligned(validation, data)
    plan = Plan(
        hashes=hashes,
        n_features=data.n_features,
        settings=config.network,
        scaling=scaler.kind,
        multilabel=not data.is_multiclass if multilabel is None else multilabel,
        mean_labels=data.labels.nnz / data.n_rows,
        seed=config.seed,
        features=None if text is None else text.to_dict(),
        columns=None if data.columns is None else data.columns.to_dict(),
        data=data.fingerprint if fingerprints else "",
        validation=validation.fingerprint if fingerprints and validation is not None else "",
        learner=_kind(config),
        bucketing=config.bucketing,
        label_text=label_text.fingerprint if fingerprints and label_text is not None else "",
        ranker=config.ranker,
        ranker_bytes=config.ranker_bytes,
        ranker_goal=PRECISION if config.ranker == NONE else config.ranker_goal,
    )
    expected_weights = None
    if config.learner == LINEAR:
        linear, expected_weights = _linear_settings(config, plan, begun, data, validation, scaler)
        plan = replace(plan, linear=linear)
    if clustered_repetitions(config.bucketing, config.n_repetitions):
        if begun is not None and not plan.differences(begun):
            plan = begun
        else:
            needed = clustering_bytes(data.n_labels, data.n_features)
            check_memory(needed, "clustering similar labels into buckets", "use random buckets", available_bytes())
            buckets = make_buckets(hashes, config.bucketing, data, scaler, config.seed, on_progress)
            plan = replace(plan, hashes=buckets)
    return Job(plan, _learner(config, plan), data, validation, scaler, expected_weights, label_text)


def facts_of(data: Dataset) -> RowFacts:
    """What the choices rest on, counted in the rows."""
    features, n_rows = data.features, max(1, data.n_rows)
    if isinstance(features, SparseRows):
        values = features.nnz / n_rows
    else:
        some = features[:: max(1, data.n_rows // _COUNTED_ROWS)]
        values = float(np.count_nonzero(some) / max(1, len(some)))
    n_labels, occurrences = data.n_labels, data.labels.nnz
    return RowFacts(n_labels, data.n_features, values, occurrences / n_rows, occurrences / max(1, n_labels))


def _learner(config: MachConfig, plan: Plan) -> Learner:
    """The network, linear buckets, or a scikit-learn classifier in its wrapping."""
    if plan.linear is not None and plan.linear.linear_loss == SOFTMAX:
        return SoftmaxLearner(plan.linear)
    if plan.linear is not None:
        normalised = plan.linear.linear_loss in (LOGISTIC, BOTH) and not plan.multilabel
        return LinearLearner(plan.linear, normalised)
    if config.learner == NETWORK:
        return NetworkLearner(config.network)
    from xmach.learners import SklearnLearner  # imports scikit-learn

    return SklearnLearner(config.learner, config.network.loss)


def _kind(config: MachConfig) -> str:
    """The name of the learner in plan.json."""
    if isinstance(config.learner, str):
        return config.learner
    from xmach.learners import SklearnLearner

    return SklearnLearner(config.learner, config.network.loss).kind


def _linear_settings(
    config: MachConfig, plan: Plan, begun: Plan | None, data: Dataset, validation: Dataset | None, scaler: Scaler
) -> Choice:
    """The settings of linear buckets with everything decided, as in the plan of the run being resumed if there is one.

    Buckets of the first repetition decide, as hashed: tables of clusters are not made yet.
    """
    settings = config.linear
    if settings.store_bits == AUTO:
        settings = replace(settings, store_bits=STORE_BITS[0])
    if begun is not None and begun.linear is not None:
        # if anything else differs, the store says what, and nothing needs to be chosen
        chosen = {name: getattr(begun.linear, name) for name in ("cost", "passes") if getattr(settings, name) == AUTO}
        return Choice(replace(settings, **chosen))
    if settings.linear_loss == SOFTMAX:
        return Choice(replace(settings, passes=SOFTMAX_PASSES if settings.passes == AUTO else settings.passes))
    rows = first_repetition(data, scaler, plan.hashes)
    held_out = None if validation is None else first_repetition(validation, scaler, plan.hashes)
    with threadpool_limits(1), np.errstate(over="ignore", invalid="ignore"):  # as repetitions are trained
        return choose_settings(settings, rows, held_out, config.seed)


def first_repetition(data: Dataset, scaler: Scaler, hashes: Buckets) -> LabelledRows:
    """The rows as the first repetition sees them."""
    weights = None if data.weights is None else mean_one(data.weights, data.n_rows)
    return LabelledRows(data.features, data.labels, weights, scaler, hashes, 0)


def is_built_in(plan: Plan) -> bool:
    """Whether a learner of our own learns: nothing is known of the memory of others, and they cannot be stored."""
    return plan.learner in LEARNERS


def _check_rows(data: Dataset) -> None:
    """Reject rows that nothing can be learned from."""
    if data.weights is not None and not np.any(data.weights):
        raise InputError("the weights of all rows are zero: there is nothing to learn from")
    for count, what in ((data.n_rows, "rows"), (data.n_features, "features"), (data.labels.nnz, "labels in any row")):
        if count == 0:
            raise InputError(f"there are no {what} to train on")


def aligned(validation: Dataset, data: Dataset) -> Dataset:
    """Validation rows with the ids of the training labels, matched by name; labels that training lacks are dropped.

    No bucket can be right about those.
    """
    labels = validation.labels
    indices = labels.indices
    if validation.label_names is not None and data.label_names is not None:
        indices = _ids_by_name(labels.indices, validation.label_names, data.label_names)
    known = (indices >= 0) & (indices < data.n_labels)
    if not known.any():
        raise InputError("no label of the validation rows occurs among the training labels: are they of the same set?")
    if known.all() and indices is labels.indices and labels.n_columns >= data.n_labels:
        return validation
    counts = np.diff(np.concatenate([np.zeros(1, np.int64), np.cumsum(known)])[labels.indptr])
    indices, values = indices[known], labels.values[known]
    if (order := row_order(counts, indices)) is not None:
        indices, values = indices[order], values[order]
    kept = SparseRows(row_offsets(counts), indices, values, data.n_labels)
    return Dataset(validation.features, kept, weights=validation.weights)


def _ids_by_name(indices: Int32Array, names: Sequence[str], wanted: Sequence[str]) -> Int32Array:
    """The ids of labels whose names are in another order; -1 for new ones. The same array if the order is the same."""
    used = np.unique(indices).tolist()
    if all(i < len(wanted) and names[i] == wanted[i] for i in used):  # as when both were read for one model
        return indices
    ids = {name: i for i, name in enumerate(wanted)}
    places = np.full(len(names), -1, np.int32)
    places[used] = [ids.get(names[i], -1) for i in used]
    moved: Int32Array = places[indices]
    return moved
