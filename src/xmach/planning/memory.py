"""What training and predicting take in memory: anonymous pages and the pages of mapped files that get touched.

The parts are counted from shapes, but for the interpreter with its libraries, which was measured. `python -m benchmarks
memory` holds the sums against the peaks of real runs (docs/planning.md).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise
from math import ceil

from xmach.block_sizes import (
    ANSWER_ROWS,
    COUNTED_LABELS,
    HASHED_LABELS,
    POOLED_OCCURRENCES,
    SCALING_ROWS,
    SCANNED_LABELS,
    SKETCH_BYTES,
    SKETCH_ROWS,
    STORED_TABLE_BYTES,
    TRIAL_REPETITIONS,
    VALIDATION_ROWS,
)
from xmach.buckets import WIDTH
from xmach.parameters import whole
from xmach.planning.data_size import SOURCE_BYTES, UNKNOWN, DataSize
from xmach.planning.linear_memory import (
    KERNEL_BYTES,
    choosing_bytes,
    descent_bytes,
    joining_bytes,
    linear_preparing_bytes,
    n_parts,
    part_bytes,
    scaled_bytes,
)
from xmach.planning.machine import usable_cores
from xmach.planning.ranker_memory import (
    CHOICE_BYTES,
    FOUND_BYTES,
    RANKING_BYTES,
    answering_twice_bytes,
    ranker_steps,
    searching_bytes,
    trial_size,
)
from xmach.planning.ranker_sizes import RankerSize
from xmach.planning.sizes import FLOAT_BYTES, Shape, inverted_index_bytes, signature_bytes

# Measured with Python 3.11, NumPy 2.4, SciPy 1.17, Numba 0.68 and PyArrow 26; kernels compiled before. At the peak of a
# tiny model: pages of libraries, which all processes of a run share; the memory of the command's process; that of each
# worker; that of the pool's two attendants.
LIBRARY_BYTES = 121 * 2**20
PARENT_BYTES = 87 * 2**20
WORKER_BYTES = 76 * 2**20
POOL_BYTES = 15 * 2**20
WRITER_BYTES = 38 * 2**20  # PyArrow's writers of answers, with pandas, which it imports where it is installed
DECODER_BYTES = 8 * 2**20  # the kernels that predicting has beyond those of training
RETAINED_BYTES = 20 * 2**20  # what the C library has not given back when training is over

ADAM_COPIES = 3  # a parameter and its two moments
BATCH_VALUE_BYTES = 40  # a stored value of a batch at the peak: gathered, scaled in float64, transposed
WAITING_VALUE_BYTES = 24  # of one that is ready: by row and by feature, with room for as many features
DENSE_VALUE_BYTES = 16  # a value of a dense batch at the peak: gathered, squared in float64, scaled
SKETCH_COPIES = 2.25  # the sketch beside its logarithms; a mask of it
PRUNED_COPIES = 3.0  # and, where nothing can be pruned, the rows that are scanned instead


@dataclass(frozen=True)
class TrainingMemory:
    """The parts of a training run's memory, in bytes; those of a repetition count once for each of the workers."""

    workers: int
    parent: int  # interpreter and libraries
    worker: int  # a worker's interpreter; 0 where the parent itself trains
    data: int  # mapped once, whatever the number of workers
    state: int  # a repetition's parameters and Adam moments
    step: int  # gradients, activations, the batch
    best: int  # a repetition's copy of its best epoch, where there are validation rows
    held: int  # finished models that no store takes
    preparing: int  # peak while a vocabulary is learned, the file read, the scaling fitted
    settling: int  # peak while the estimator is chosen on validation rows, which maps all R models
    choosing: int = 0  # peak while the settings of linear buckets are chosen
    joining: int = 0  # what making a repetition of its finished parts takes, in the parent
    copying: int = 0  # the finished weights of a part once more, for a moment: hardly in two workers at a time
    ranking: int = 0  # peak while the ranker is trained, the trial model that chooses its settings included
    queued: bool = False  # whether parts wait for workers, so that all of these train while the parent joins

    @property
    def repetition(self) -> int:
        """One repetition in training, with its interpreter where it has one of its own."""
        return self.worker + self.state + self.step + self.best

    @property
    def working(self) -> int:
        """What the repetitions in training take at most, the joining of their parts included.

        A worker whose part completed a repetition begins the next part with no finished weights, if there is one.
        """
        training = self.workers * self.repetition + self.copying
        if not self.worker:
            return max(training, self.joining)
        others = self.workers * self.repetition - (self.copying if self.queued else self.repetition)
        return max(training, others + self.joining)

    @property
    def training(self) -> int:
        """The peak while repetitions are trained."""
        return self.parent + self.data + self.working + self.held

    @property
    def total(self) -> int:
        """The peak of the run."""
        return max(self.training, self.preparing, self.settling, self.choosing, self.ranking)


def training_memory(
    shape: Shape, data: DataSize, batch_size: int, workers: int = 1, *, pool: bool | None = None, models_held: int = 0
) -> TrainingMemory:
    """The memory of a run that trains `workers` repetitions at a time; `pool`: in processes of their own.

    Every feature is taken to occur: moments of one that does not are never touched, and cost nothing where pages are
    small. Checkpoints are written from the arrays themselves.
    """
    workers = whole("workers", workers, 1)
    batch = whole("batch_size", batch_size, 1)
    pool = workers > 1 if pool is None else pool
    parent = LIBRARY_BYTES + PARENT_BYTES + SOURCE_BYTES[data.source] + (POOL_BYTES if pool else 0)
    kernels = 0 if shape.weights is None else KERNEL_BYTES
    parent += kernels
    learning = parent + data.learning_bytes
    table = (2 if shape.n_buckets <= 2**16 else 4) * shape.n_labels if shape.n_tables else 0
    parent += data.vocabulary_bytes + shape.n_tables * table
    mapped = data.mapped_bytes(shape.n_features)
    linear = shape.weights is not None
    in_parts, trained = linear and not shape.joint, replace(shape, weights=None) if shape.joint else shape
    reading = linear_preparing_bytes(shape, data) if linear else 0
    copied = mapped if data.copied and linear else 0  # the scaled rows are there beside them
    ranking = 0 if shape.ranker is None else _ranking_bytes(shape, shape.ranker, data, batch, workers, models_held > 0)
    return TrainingMemory(
        workers=workers,
        parent=parent,
        worker=WORKER_BYTES + kernels + table if pool else 0,
        data=scaled_bytes(shape, data) + copied if linear else mapped,
        state=descent_bytes(shape, data) if in_parts else ADAM_COPIES * trained.repetition_bytes,
        step=0 if in_parts else _step_bytes(trained, data, batch),
        best=shape.repetition_bytes if data.n_validation and not linear else 0,
        held=models_held * shape.repetition_bytes,
        preparing=max(learning, parent + mapped + max(_preparing_bytes(shape, data), reading)),
        settling=_settling_bytes(shape, data) if data.n_validation else 0,
        choosing=parent + mapped + choosing_bytes(shape, data) if in_parts and data.choosing else 0,
        joining=joining_bytes(shape) if in_parts else 0,
        copying=part_bytes(shape) if in_parts else 0,
        ranking=parent + ranking + models_held * shape.repetition_bytes if ranking else 0,
        queued=in_parts and shape.n_repetitions * n_parts(shape) > workers,
    )


def training_bytes(shape: Shape, data: DataSize, batch_size: int, workers: int = 1) -> int:
    """The peak of `xmach train` with this number of workers, its own process included."""
    return training_memory(shape, data, batch_size, workers).total


def prediction_bytes(
    shape: Shape, data: DataSize = UNKNOWN, rows: int = ANSWER_ROWS, threads: int | None = None
) -> int:
    """The peak of `xmach predict`: R mapped models, what the decoder keeps, and the scores of `rows` rows at a time.

    `threads`: one a core of this machine, unless told. Pages of the file are given back once its rows are answered.
    """
    threads = usable_cores() if threads is None else whole("threads", threads, 1)
    answered = min(rows, data.n_rows or rows)
    file = DataSize(answered, data.nonzeros_per_row, data.labels_per_row, data.sparse).mapped_bytes(shape.n_features)
    return LIBRARY_BYTES + PARENT_BYTES + file + _answering_bytes(shape, data, rows, threads, WRITER_BYTES)


def _ranking_bytes(
    shape: Shape, ranker: RankerSize, data: DataSize, batch_size: int, workers: int, in_memory: bool
) -> int:
    """The peak while the second stage is trained, beside the process; and of the trial model, a run of its own."""
    steps = ranker_steps(shape, ranker, data, stored=not in_memory)
    pooled = workers > 1 and data.n_rows * data.labels_per_row > POOLED_OCCURRENCES
    rows_bytes = data.mapped_bytes(shape.n_features)  # pages of mapped rows are let go once they are scaled
    sketching, tables = (_sketching_bytes(shape, data, rows, 1) for rows in (SKETCH_ROWS, 1))
    threads = usable_cores()
    answering = _sketching_bytes(shape, data, min(SKETCH_ROWS, data.n_validation), threads) if data.n_validation else 0
    each = WORKER_BYTES + KERNEL_BYTES  # of a process that makes shards
    shortlisting = each + sketching - shape.model_bytes if pooled else 0
    own = max(
        steps.preparing + (0 if data.copied else rows_bytes),
        steps.texts,
        steps.profiles + (workers * each if pooled else 0),
        steps.shortlists + max(sketching, tables + workers * shortlisting) if ranker.listed else 0,
        steps.classifiers
        + tables
        + (workers * each + min(workers * steps.shard, steps.shards) - steps.shard if pooled else 0),
        steps.choosing + max(answering + FOUND_BYTES * steps.candidates, tables + CHOICE_BYTES * steps.candidates),
    )
    trial, rows = 0, trial_size(data)
    if rows is not None:
        share = rows.n_rows / data.n_rows
        smaller = replace(
            shape,
            n_repetitions=min(shape.n_repetitions, TRIAL_REPETITIONS),
            n_tables=min(shape.n_tables, TRIAL_REPETITIONS // 2),
            weights=None if shape.weights is None else ceil(share * shape.weights),
            ranker=ranker.of_share(share),
        )
        run = training_memory(smaller, rows, batch_size, workers)
        trial = run.total - run.parent
    return max(RANKING_BYTES + (rows_bytes if data.copied else 0) + own, trial)


def _sketching_bytes(shape: Shape, data: DataSize, rows: int, threads: int) -> int:
    """What shortlists of rows take, which are scaled already: models, decoder, and a batch, searched by a beam."""
    scaled = replace(data, nonzeros_per_row=0.0)
    searching = searching_bytes(shape, min(rows, SKETCH_ROWS, data.n_rows), threads)
    return searching + _answering_bytes(replace(shape, ranker=None), scaled, rows, threads, 0, beam=True)


def _settling_bytes(shape: Shape, data: DataSize) -> int:
    """The peak while validation rows are answered, at the end of training; all rows stay mapped."""
    answering = _answering_bytes(shape, data, data.n_validation, usable_cores(), 0)
    return LIBRARY_BYTES + PARENT_BYTES + RETAINED_BYTES + data.mapped_bytes(shape.n_features) + answering


def _answering_bytes(shape: Shape, data: DataSize, rows: int, threads: int, writer: int, *, beam: bool = False) -> int:
    """What answering adds to a process: models, decoder, and a batch with its sketch; then what writes the answers.

    `beam`: shortlists are asked for, as they are where there is a ranker; the search itself counts elsewhere.
    """
    a_row = FLOAT_BYTES * shape.n_repetitions * shape.n_buckets  # of the sketch, (n, R, B)
    once = 0 < data.n_rows <= rows  # a batch is let go before its answers are written: only the next one meets a writer
    rows = min(whole("rows", rows, 1), max(1, min(SKETCH_ROWS, SKETCH_BYTES // a_row)), data.n_rows or SKETCH_ROWS)
    pruned = shape.n_labels > SCANNED_LABELS and not beam and shape.ranker is None
    batch = ceil((PRUNED_COPIES if pruned else SKETCH_COPIES) * rows * a_row)
    batch += min(threads, shape.n_repetitions) * FLOAT_BYTES * rows * sum(shape.widths[1:])
    batch += BATCH_VALUE_BYTES * data.values(rows) if data.sparse else FLOAT_BYTES * rows * shape.n_features
    labels = 5 * shape.n_labels  # training rows of each, and which had any
    kept = shape.model_bytes + 4 * shape.n_features + labels + DECODER_BYTES + data.vocabulary_bytes
    tables, making = _table_bytes(shape, threads)
    searching = min(threads, rows) * _scratch_bytes(shape) if pruned else 0
    if shape.ranker is not None:
        kept += answering_twice_bytes(shape, shape.ranker, rows, threads)
    return kept + tables + max(batch + max(making, searching + (0 if once else writer)), writer)


def _table_bytes(shape: Shape, threads: int) -> tuple[int, int]:
    """What a decoder stores of size K, and what it takes beside while it is made."""
    key = (shape.n_labels, shape.n_buckets, shape.n_repetitions)
    signatures, lists = signature_bytes(*key), inverted_index_bytes(*key)
    if signatures + lists > STORED_TABLE_BYTES and not shape.n_tables:
        return 0, 0
    hashing = 24 * min(HASHED_LABELS, shape.n_labels)  # three 64-bit numbers each
    if shape.n_labels <= SCANNED_LABELS:
        return signatures, hashing
    a_column = signatures // shape.n_repetitions  # each thread sorts one
    return signatures + lists, max(hashing, signatures + min(threads, shape.n_repetitions) * a_column)


def _scratch_bytes(shape: Shape) -> int:
    """The working memory of a thread that searches; 16-bit sums of at most 4 million labels are most of it."""
    sums = 2 << min(22, max(6, (shape.n_labels - 1).bit_length()))
    longest = 2 * shape.n_labels // shape.n_buckets  # twice the mean list
    return sums + 8 * shape.n_repetitions * shape.n_buckets + 8 * longest + 9 * 2**14  # and labels at hand


def _step_bytes(shape: Shape, data: DataSize, batch: int) -> int:
    """What one step has in memory beside parameters and moments."""
    first, *rest = shape.widths
    weights = first * rest[0]  # sparse rows update the first layer in place; every other gradient is an array
    gradients = shape.parameters - (weights if data.sparse else 0)
    rows = max(2 * batch, VALIDATION_ROWS if data.n_validation else 0)  # each activation has a delta on the way back
    floats = gradients + rows * sum(rest)
    if len(rest) > 2:  # weights without those of silent units, which deeper layers have
        floats += sum(inputs * outputs for inputs, outputs in pairwise(rest[1:]))
    if not data.sparse:
        return FLOAT_BYTES * floats + (DENSE_VALUE_BYTES + FLOAT_BYTES) * batch * first + 8 * data.n_rows
    values = data.values(max(batch, VALIDATION_ROWS if data.n_validation else 0))
    tables = 8 * first  # tf-idf weights, and a counter a feature for the batch's transpose
    batches = (BATCH_VALUE_BYTES + WAITING_VALUE_BYTES) * values
    return FLOAT_BYTES * floats + batches + tables + 8 * data.n_rows  # the order of the rows


def _preparing_bytes(shape: Shape, data: DataSize) -> int:
    """What walking over the data takes at most: document frequencies, or the rows of each label."""
    scaling = 13 * data.values(min(SCALING_ROWS, data.n_rows)) + 32 * shape.n_features if data.sparse else 0
    # every label's count twice where labels have rows enough; otherwise the distinct ones, sorted and merged
    occurrences = ceil(data.n_rows * data.labels_per_row)
    counting = 16 * min(COUNTED_LABELS, occurrences) + min(16 * shape.n_labels, 48 * occurrences)
    return max(scaling, counting, clustering_bytes(shape.n_labels, shape.n_features) if shape.n_tables else 0)


def clustering_bytes(n_labels: int, n_features: int) -> int:
    """What making a table of buckets takes: a projection and its bits; a point a label and its copy, order, height, key
    and hash."""
    return FLOAT_BYTES * WIDTH * (n_features + 2 * n_labels) + (WIDTH + 8) * n_features + 40 * n_labels
