"""The memory that training and using the second stage of a model takes, beyond the sketch."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import ceil

from xmach.block_sizes import (
    HELD_OUT_SHARE,
    LABEL_SHARDS,
    LEAST_SHARD_LABELS,
    MANY_ROWS,
    MOST_HELD_OUT,
    NEGATIVES_BY_PROFILE,
    NEGATIVES_BY_SKETCH,
    SCALING_ROWS,
    SHORTLISTED_BY_PROFILE,
    SHORTLISTED_BY_SKETCH,
    SHORTLISTED_BY_TEXT,
    TERM_CANDIDATES,
    TERM_ROWS,
)
from xmach.planning.data_size import DataSize
from xmach.planning.linear_memory import BLOCK_VALUE_BYTES
from xmach.planning.ranker_sizes import RankerSize
from xmach.planning.sizes import Shape

RANKING_BYTES = 16 * 2**20  # kernels of the second stage, and what the C library keeps between its steps: measured
CANDIDATE_BYTES = 80  # of a row on a shortlist: found, sorted, its parts, its score, ranked
LISTED_BYTES = 50  # of a training row on one: found, sorted, without the row's labels
FOUND_BYTES = 24  # of a held-out row's candidate, while those of other rows are found: its number and its parts
CHOICE_BYTES = 140  # of one when weights are tried: its parts, as lists and as tables, and a ranking
PART_BYTES = 8  # an entry of a finished shard: feature and weight
SHARD_BYTES = 16  # an entry of a shard in work: as it was found, and copied without the space that is left
CODE_BYTES = 1  # an entry that was rounded, and waits for its place
POSITIVE_BYTES = 8  # a row of a label: its number and its weight
NEGATIVE_BYTES = 4  # a row that is a negative one of a label: its number
LISTING_BYTES = 4  # of one in a finished shard of shortlists, which wait in memory if there is no store
BUDGET_BYTES = 2  # an entry whose code is made again for each budget that is tried
EXAMPLE_BYTES = 18  # a candidate of a row that learns term weights: its number and whether it is right, joined
TERM_BYTES = 44  # a feature: what it is worth, and three sums
BEAM_BYTES = 30 * 2**20  # the most that a thread takes to search


@dataclass(frozen=True)
class RankerSteps:
    """What each step of training a second stage takes beside the sketch."""

    preparing: int  # rows are scaled; without the rows as they were
    texts: int  # term weights of label texts are learned
    profiles: int
    shortlists: int  # those of a batch count with the sketch
    classifiers: int
    choosing: int  # held-out rows are ranked; without their candidates
    candidates: int  # of all held-out rows
    shard: int  # what a worker takes for a shard of classifiers
    shards: int  # what all shards would take at a time


def ranker_steps(shape: Shape, ranker: RankerSize, data: DataSize, *, stored: bool) -> RankerSteps:
    """The steps for rows of this size; not `stored`: finished shards wait in memory."""
    n, K, d = data.n_rows, shape.n_labels, shape.n_features
    values = data.values(n) if data.sparse else n * d
    block = data.values(min(n, SCALING_ROWS)) if data.sparse else min(n, SCALING_ROWS) * d
    labels = ceil(n * data.labels_per_row)
    kept = 8 * values + 8 * n + (POSITIVE_BYTES * labels + 8 * K) + (8 * labels + 8 * n)
    kept += ranker.text_bytes(K, d)
    profiles = ranker.profile_bytes(K, d)
    classifiers = ranker.classifier_bytes(K, d, ranker.tried_weights - ranker.dropped_weights)
    wrong = ranker.negatives(n, K)
    negatives = NEGATIVE_BYTES * wrong + 8 * K if wrong else 0
    shard = SHARD_BYTES * ceil(_shard_share(K) * ranker.tried_weights) + 12 * d
    waiting = 0 if stored else PART_BYTES * ranker.tried_weights
    return RankerSteps(
        preparing=max(12 * values, 8 * values + BLOCK_VALUE_BYTES * block) + 16 * n + 32 * d,
        texts=kept + (_terms(ranker, K, d, data) if ranker.text_entries else 0),
        profiles=kept + _making(ranker, K, profiles, stored) + 12 * d,
        shortlists=kept + profiles + negatives + 8 * K + (0 if stored else LISTING_BYTES * wrong),
        classifiers=kept + profiles + negatives + max(shard + waiting, _joining(ranker.tried_weights, classifiers)),
        choosing=kept + profiles + negatives + classifiers + ranker.tried_weights // 8,
        candidates=min(MOST_HELD_OUT, data.n_validation) * shortlisted(shape, ranker),
        shard=shard,
        shards=SHARD_BYTES * ranker.tried_weights + 12 * d,
    )  # fmt: skip


def shortlisted(shape: Shape, ranker: RankerSize) -> int:
    """The labels of a row that are looked at twice, at most."""
    by_text = SHORTLISTED_BY_TEXT if ranker.text_entries else 0
    return min(shape.n_labels, SHORTLISTED_BY_SKETCH + SHORTLISTED_BY_PROFILE + by_text)


def answering_twice_bytes(shape: Shape, ranker: RankerSize, rows: int, threads: int) -> int:
    """What the second stage adds to answering a batch: mapped arrays, candidates, and what threads search in."""
    K, d = shape.n_labels, shape.n_features
    ends = ranker.weights // 8  # of blocks of 32 entries
    candidates = CANDIDATE_BYTES * rows * shortlisted(shape, ranker)
    return ranker.stored_bytes(K, d) + ends + 4 * K + candidates + _scratch_bytes(shape, min(threads, rows))


def searching_bytes(shape: Shape, rows: int, threads: int) -> int:
    """The shortlists of training rows in a batch, and what threads search in."""
    listed = min(shape.n_labels, NEGATIVES_BY_SKETCH + NEGATIVES_BY_PROFILE)
    return LISTED_BYTES * rows * listed + _scratch_bytes(shape, min(threads, rows))


def trial_size(data: DataSize) -> DataSize | None:
    """The rows of the trial model that chooses a ranker's settings; None if there is none."""
    if data.n_validation or not data.n_rows // HELD_OUT_SHARE >= 20 or data.n_rows >= MANY_ROWS:
        return None
    held_out = min(MOST_HELD_OUT, data.n_rows // HELD_OUT_SHARE)
    return DataSize(
        data.n_rows - held_out, data.nonzeros_per_row, data.labels_per_row, data.sparse, held_out, copied=True
    )


def held_out_size(data: DataSize) -> DataSize:
    """The rows that are trained on if a model has a ranker: of many, some are held out, and the others are copied."""
    if data.n_validation or data.n_rows < MANY_ROWS:
        return data
    return replace(data, n_rows=data.n_rows - MOST_HELD_OUT, n_validation=MOST_HELD_OUT, copied=True)


def _scratch_bytes(shape: Shape, threads: int) -> int:
    """What threads search in: a beam's sums and labels, and the sums of all profiles."""
    beam = min(BEAM_BYTES, 14 << (shape.n_labels - 1).bit_length())
    return threads * (beam + 8 * shape.n_labels)


def _shard_share(n_labels: int) -> float:
    """The share of labels that is in one shard."""
    return min(1.0, max(LEAST_SHARD_LABELS / n_labels, 1 / LABEL_SHARDS))


def _making(ranker: RankerSize, n_labels: int, joined: int, stored: bool) -> int:
    """What making profiles takes: shards, then lists of them all."""
    entries = ranker.profile_entries + ranker.dropped_entries
    shard = SHARD_BYTES * ceil(_shard_share(n_labels) * entries)
    budget = BUDGET_BYTES * entries if ranker.dropped_entries else 0
    return max(shard + (0 if stored else PART_BYTES * entries), _joining(entries, joined) + budget)


def _joining(entries: int, joined: int) -> int:
    """What making lists of finished shards takes."""
    return (PART_BYTES + CODE_BYTES) * entries + joined


def _terms(ranker: RankerSize, n_labels: int, n_features: int, data: DataSize) -> int:
    """What learning term weights takes: texts as rows and as lists of two kinds, rows with candidates, their features.

    The texts as rows are those of the file.
    """
    rows = min(TERM_ROWS, data.n_rows)
    texts = (2 * PART_BYTES + CODE_BYTES) * ranker.text_entries + ranker.text_bytes(n_labels, n_features)
    candidates = min(n_labels, TERM_CANDIDATES) + data.labels_per_row
    return (
        texts + ceil(EXAMPLE_BYTES * rows * candidates) + 2 * PART_BYTES * data.values(rows) + TERM_BYTES * n_features
    )
