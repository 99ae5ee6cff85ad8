"""What a training job takes in memory, and the refusal of what does not fit."""

from __future__ import annotations

from xmach.block_sizes import MANY_ROWS
from xmach.buckets import clustered_repetitions
from xmach.config import AUTO, NONE, SOFTMAX, MachConfig
from xmach.data import Dataset
from xmach.errors import ParameterError
from xmach.features.featurizers import needs_arrays
from xmach.learners.session import effective_batch_size
from xmach.planning import (
    TYPICAL_COST,
    DataSize,
    Plan,
    RankerSize,
    Shape,
    available_bytes,
    check_memory,
    clustering_bytes,
    expected_ranker,
    human_bytes,
    kept_weights,
    training_bytes,
    training_memory,
    with_clusters,
)
from xmach.planning import workers_within as most_workers
from xmach.training.job import Job
from xmach.types import SparseRows


def check_budget(
    memory: int | None,
    config: MachConfig,
    *,
    source: str = "numbers",
    data: Dataset | None = None,
    name: str = "memory",
) -> None:
    """Reject a memory budget that reading alone, or clustering the labels of `data`, would exceed."""
    if memory is None:
        return
    least = training_bytes(Shape(1, 1, (), 2, 1), DataSize(source=source), 1)
    if memory < least:
        raise ParameterError(f"{name}: reading and training take at least {human_bytes(least)}, whatever the model")
    if data is not None and clustered_repetitions(config.bucketing, config.n_repetitions):
        needed = clustering_bytes(data.n_labels, data.n_features)
        if memory < needed:
            raise ParameterError(f"{name}: clustering similar labels into buckets takes {human_bytes(needed)}")


def workers_within(job: Job, budget: int, most: int) -> int:
    """How many repetitions fit in `budget` bytes at a time, up to `most`; raises `ParameterError` if none does."""
    return most_workers(budget, *_sizes(job), most)


def check_training_memory(job: Job, workers: int, models_held: int) -> None:
    """Raise `NotEnoughMemory` if training cannot fit; `models_held` models stay in memory because no store takes them.

    This process is in memory already, and pages of mapped rows can leave it: neither counts here.
    """
    memory = training_memory(*_sizes(job), workers, models_held=models_held)
    needed = memory.working + memory.held
    if memory.ranking - memory.parent > needed:
        advice = "train without one (ranker='none', --ranker none), or with fewer rows or features"
        check_memory(memory.ranking - memory.parent, "training the ranker", advice, available_bytes())
    what = f"training {workers} repetition{'s' if workers > 1 else ''} at a time"
    fewer = "train fewer at a time (workers, n_jobs), or with " if workers > 1 else "train with "
    smaller = "a smaller hidden layer, " if job.plan.linear is None and job.plan.settings.hidden else ""
    check_memory(needed, what, f"{fewer}{smaller}fewer buckets or fewer features", available_bytes())


def expected_model_bytes(job: Job) -> int:
    """The size of the model that comes of a job; of linear buckets an estimate."""
    shape = _sizes(job)[0]
    return shape.model_bytes + shape.ranker_bytes


def _sizes(job: Job) -> tuple[Shape, DataSize, int]:
    """What the memory of a job follows from: the model, the rows, and the rows of a training step."""
    plan, data, features = job.plan, job.data, job.data.features
    hashes, settings = plan.hashes, plan.settings
    rows = DataSize(
        n_rows=data.n_rows,
        nonzeros_per_row=features.nnz / max(1, data.n_rows) if isinstance(features, SparseRows) else 0.0,
        labels_per_row=plan.mean_labels,
        sparse=isinstance(features, SparseRows),
        n_validation=0 if job.validation is None else job.validation.n_rows,
        source="numbers" if data.columns is None else "text" if data.columns.text else "table",
        vocabulary=_vocabulary_size(job),
        copied=plan.ranker != NONE and job.validation is not None and data.folder is None and data.n_rows >= MANY_ROWS,
    )
    shape = Shape(
        hashes.n_labels, plan.n_features, settings.hidden, hashes.n_buckets, hashes.n_repetitions,
        n_tables=len(clustered_repetitions(plan.bucketing, hashes.n_repetitions)),
        weights=_weights(job, rows),
        joint=_is_joint(plan),
        weight_bits=8 if plan.linear is None else int(plan.linear.store_bits),
        ranker=_ranker(job, rows),
    )  # fmt: skip
    return shape, rows, effective_batch_size(settings.batch_size, data.n_rows)


def _ranker(job: Job, rows: DataSize) -> RankerSize | None:
    plan, texts = job.plan, job.label_text
    if plan.ranker == NONE:
        return None
    text_entries = 0 if texts is None else texts.rows.nnz
    return expected_ranker(plan.ranker, plan.hashes.n_labels, plan.n_features, rows, plan.ranker_bytes, text_entries)


def _weights(job: Job, rows: DataSize) -> int | None:
    """The weights that a repetition of linear buckets is expected to keep: by probed buckets, or else by a formula."""
    plan = job.plan
    if plan.linear is None:
        return None
    n_repetitions = plan.hashes.n_repetitions
    clustered = len(clustered_repetitions(plan.bucketing, n_repetitions)) / n_repetitions
    if job.expected_weights is not None:
        return with_clusters(job.expected_weights, clustered)
    linear = plan.linear
    cost = TYPICAL_COST if linear.cost == AUTO else float(linear.cost)  # softmax has none
    sizes = (plan.n_features, plan.hashes.n_buckets, rows)
    return kept_weights(*sizes, linear.linear_loss, cost, linear.prune_below, clustered)


def _is_joint(plan: Plan) -> bool:
    """Whether the linear buckets of a repetition are trained together."""
    return plan.linear is not None and plan.linear.linear_loss == SOFTMAX


def _vocabulary_size(job: Job) -> int:
    """The tokens with slots of their own, if the run itself reads text."""
    columns, settings = job.data.columns, job.plan.features
    if columns is None or not columns.text or settings is None or not needs_arrays(settings):
        return 0
    return sum(int(settings[kind]) for kind in ("words", "bigrams", "trigrams"))
