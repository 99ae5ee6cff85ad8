"""Buckets learned from the training rows: a table in some repetitions, a hash in the others."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np

from xmach._kernels.train.clusters import balanced_clusters, unit_points
from xmach.buckets.universal import UniversalHashes
from xmach.config import BUCKETINGS, RANDOM
from xmach.errors import InputError, ParameterError
from xmach.types import AnyArray, FloatArray, IntArray

WIDTH = 64  # coordinates of a label's point: one for each bit of the 64-bit draw of a feature


@dataclass(frozen=True, eq=False, repr=False)
class LearnedBuckets:
    """R maps from K labels to B buckets, some of them tables; has the interface of `UniversalHashes`."""

    hashes: UniversalHashes  # of all R; used in the repetitions without a table
    tables: Mapping[int, AnyArray]  # by repetition: (K,) buckets
    digests: Mapping[int, str] = field(default_factory=dict)  # SHA-256 of those tables for which it is known

    def __repr__(self) -> str:
        sizes = f"{self.n_labels:,} labels into {self.n_buckets:,} buckets"
        return f"<LearnedBuckets: {sizes}, {len(self.tables)} of {self.n_repetitions} repetitions by a table>"

    def __post_init__(self) -> None:
        for r, table in self.tables.items():
            if not 0 <= r < self.n_repetitions or table.shape != (self.n_labels,):
                raise InputError(
                    f"the bucket table of repetition {r} must have shape ({self.n_labels},), got {table.shape}"
                )
            if table.dtype.kind != "u" or table.max() >= self.n_buckets:  # a kernel would write beyond its arrays
                raise InputError(f"the buckets of repetition {r} are not all whole numbers below {self.n_buckets}")

    @property
    def n_labels(self) -> int:
        """K."""
        return self.hashes.n_labels

    @property
    def n_buckets(self) -> int:
        """B."""
        return self.hashes.n_buckets

    @property
    def n_repetitions(self) -> int:
        """R."""
        return self.hashes.n_repetitions

    @property
    def prime(self) -> int:
        """The prime p of the hashes."""
        return self.hashes.prime

    @property
    def dtype(self) -> np.dtype[Any]:
        """The smallest unsigned integer type that holds a bucket."""
        return self.hashes.dtype

    def rule(self, repetition: int) -> tuple[AnyArray, int, int, int, int]:
        """Return (table, a, b, p, B) for a kernel to find buckets with; if the table is empty, by the hash."""
        rule = self.hashes.rule(repetition)
        return self.tables.get(repetition, rule[0]), *rule[1:]

    def buckets(self, ids: AnyArray, repetition: int) -> IntArray:
        """Return the buckets of the given label ids in one repetition."""
        if repetition not in self.tables:
            return self.hashes.buckets(ids, repetition)
        labels = np.asarray(ids)
        if labels.size and (labels.dtype.kind not in "iu" or labels.min() < 0 or labels.max() >= self.n_labels):
            raise InputError(f"label ids must be whole numbers from 0 to {self.n_labels - 1}")
        found: IntArray = self.tables[repetition][labels].astype(np.int64)
        return found

    def signatures(self) -> AnyArray:
        """Return the (K, R) table of buckets."""
        table = self.hashes.signatures()
        for r, column in self.tables.items():
            table[:, r] = column
        return table

    def subset(self, repetitions: Sequence[int]) -> LearnedBuckets:
        """Keep some repetitions only, renumbered from 0."""
        tables = {new: self.tables[r] for new, r in enumerate(repetitions) if r in self.tables}
        return LearnedBuckets(self.hashes.subset(repetitions), tables)

    def only(self, repetition: int) -> LearnedBuckets:
        """Keep the table of one repetition only, which is all that its training needs."""
        return LearnedBuckets(self.hashes, {r: table for r, table in self.tables.items() if r == repetition})

    def to_dict(self) -> dict[str, Any]:
        """Return the hashes as plain numbers, and the digest of each table by repetition."""
        digests = {str(r): self.digests.get(r) or digest_of(table) for r, table in self.tables.items()}
        return self.hashes.to_dict() | {"tables": digests}


Buckets: TypeAlias = UniversalHashes | LearnedBuckets


def check_bucketing(bucketing: str) -> str:
    """Return the name of a bucketing, or raise ParameterError if there is none of that name."""
    if bucketing not in BUCKETINGS:
        raise ParameterError(f"bucketing must be one of {', '.join(BUCKETINGS)}, got {bucketing!r}")
    return bucketing


def clustered_repetitions(bucketing: str, n_repetitions: int) -> range:
    """Return the repetitions with clusters: in `mixed` every second one, so any first R are half of each kind."""
    first = {RANDOM: n_repetitions, "mixed": 1, "clustered": 0}[check_bucketing(bucketing)]
    return range(first, n_repetitions, 1 if bucketing == "clustered" else 2)


def digest_of(table: AnyArray) -> str:
    """Return the SHA-256 of a table."""
    return hashlib.sha256(np.ascontiguousarray(table).data).hexdigest()


def signs(n_features: int, seed: int, repetition: int) -> FloatArray:
    """Draw the (d, WIDTH) signs, +1 or -1, of one repetition: a random projection, which roughly keeps angles."""
    draws = _stream(seed, repetition, b"signs").random_raw(n_features)
    bits = np.unpackbits(draws.astype("<u8").view(np.uint8).reshape(n_features, 8), axis=1)
    return bits.astype(np.float32) * np.float32(2.0) - np.float32(1.0)


def clustered(points: FloatArray, hashes: UniversalHashes, seed: int, repetition: int) -> AnyArray:
    """Return (K,) buckets of equal size that keep nearby labels together.

    `points` is (K, WIDTH) and is scaled to unit length in place. A label whose point is all zero has no training row:
    it keeps the bucket of the hash.
    """
    table = hashes.buckets(np.arange(hashes.n_labels), repetition).astype(hashes.rule(repetition)[0].dtype)
    has_point = np.empty(len(points), np.bool_)
    unit_points(points, has_point)
    known = np.flatnonzero(has_point)
    if len(known) < len(points):
        points = points[known]
    buckets = np.empty(len(known), table.dtype)
    keys = _stream(seed, repetition, b"starts").random_raw(len(known))
    balanced_clusters(points, keys, hashes.n_buckets, buckets)
    table[known] = buckets
    return table


def _stream(seed: int, repetition: int, purpose: bytes) -> np.random.Philox:
    """Return a stream of raw bits named by its arguments, the same on every platform and NumPy version."""
    name = repr((purpose, int(seed), int(repetition))).encode()
    return np.random.Philox(key=int.from_bytes(hashlib.sha256(name).digest()[:16], "little"))
