"""The shapes that rooms hand to each other, defined once.

Letters in shape comments: n rows, d features, K labels, B buckets, R repetitions, k answers a row.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from xmach.errors import InputError

FloatArray: TypeAlias = npt.NDArray[np.float32]
DoubleArray: TypeAlias = npt.NDArray[np.float64]
IntArray: TypeAlias = npt.NDArray[np.int64]
Int32Array: TypeAlias = npt.NDArray[np.int32]
BoolArray: TypeAlias = npt.NDArray[np.bool_]
AnyArray: TypeAlias = npt.NDArray[Any]

Loss: TypeAlias = Literal["softmax", "bce"]


@dataclass(frozen=True, repr=False)
class SparseRows:
    """CSR rows: 64-bit offsets, 32-bit columns sorted within a row, float32 values; any of them may be memory-mapped.

    Not a SciPy matrix, because SciPy gives offsets and columns one common type, which copies a memory map.
    """

    indptr: IntArray  # (n + 1,)
    indices: Int32Array  # (nnz,)
    values: FloatArray  # (nnz,)
    n_columns: int

    def __repr__(self) -> str:
        return f"<SparseRows {self.n_rows:,} x {self.n_columns:,}, {self.nnz:,} values>"

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return len(self.indptr) - 1

    @property
    def nnz(self) -> int:
        """The number of stored values."""
        return int(self.indptr[-1])

    @property
    def shape(self) -> tuple[int, int]:
        """(rows, columns)."""
        return self.n_rows, self.n_columns

    def row(self, i: int) -> tuple[Int32Array, FloatArray]:
        """The columns and values of row i."""
        start, stop = self.indptr[i], self.indptr[i + 1]
        return self.indices[start:stop], self.values[start:stop]

    def slice(self, start: int, stop: int) -> SparseRows:
        """Rows start..stop-1, sharing memory with these."""
        first, last = self.indptr[start], self.indptr[stop]
        return SparseRows(
            self.indptr[start : stop + 1] - first, self.indices[first:last], self.values[first:last], self.n_columns
        )

    def take(self, rows: IntArray) -> SparseRows:
        """The given rows, in the given order, copied."""
        rows = np.asarray(rows, dtype=np.int64)
        lengths = self.indptr[rows + 1] - self.indptr[rows]
        indptr = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths, dtype=np.int64)])
        source = np.repeat(self.indptr[rows] - indptr[:-1], lengths) + np.arange(indptr[-1], dtype=np.int64)
        return SparseRows(indptr, self.indices[source], self.values[source], self.n_columns)


Rows: TypeAlias = SparseRows | FloatArray  # what a bucket model takes: sparse rows, or a dense (n, d) array

OnProgress: TypeAlias = Callable[[int, int], None]  # a progress callback: done, total


class TopK(NamedTuple):
    """The k best labels of n rows, best first; where a row has fewer than k, ids are -1, scores -inf and names None."""

    labels: AnyArray  # (n, k) label names, or the ids again where labels have no names
    scores: FloatArray  # (n, k)
    ids: IntArray  # (n, k)

    def __repr__(self) -> str:
        rows, k = self.ids.shape
        pairs = zip(self.labels[0].tolist(), self.scores[0].tolist(), strict=True) if rows else ()
        best = [f"{shortened(label)}: {score:.4g}" for label, score in list(pairs)[:3]]
        shown = ", ".join([*best, "..."] if k > 3 else best)
        return f"<TopK of {rows:,} rows, k={k}; row 0: {{{shown}}}>" if rows else f"<TopK of 0 rows, k={k}>"


class Progress(NamedTuple):
    """How far a repetition is."""

    done: int  # rows trained on so far, over all epochs
    total: int  # rows to train on, over all epochs
    loss: float  # mean training loss of late


class Monitor(Protocol):
    """What a running repetition tells, and asks, whoever started it; picklable."""

    def report(self, repetition: int, progress: Progress, part: int = 0) -> None:
        """Say how far a repetition is, or one of its parts."""

    def should_stop(self) -> bool:
        """Whether to save and stop now."""


class BucketModel(Protocol):
    """A trained B-way classifier: plain arrays and a forward pass, no training framework."""

    @property
    def kind(self) -> str:
        """The name under which the store keeps it."""

    @property
    def n_features(self) -> int:
        """d."""

    @property
    def n_buckets(self) -> int:
        """B."""

    def probabilities(self, rows: Rows) -> FloatArray:
        """The (n, B) bucket probabilities of (n, d) rows."""

    def arrays(self) -> dict[str, FloatArray]:
        """The model as named arrays."""


class TextRows(Protocol):
    """Makes sparse rows of texts."""

    @property
    def n_features(self) -> int:
        """d."""

    def to_dict(self) -> dict[str, Any]:
        """The settings as JSON values: equal settings, equal rows."""

    def arrays(self) -> dict[str, AnyArray]:
        """What was learned from texts, as named arrays; nothing where nothing is."""

    def transform(self, texts: Sequence[str]) -> SparseRows:
        """One row a text."""


class Sink(Protocol):
    """Where training leaves its results; picklable, so that a worker process can write for itself."""

    def has(self, repetition: int) -> bool:
        """Whether the repetition is finished and stored."""

    def put(self, repetition: int, model: BucketModel, history: list[dict[str, float]]) -> None:
        """Store a finished repetition, atomically; a second put of the same repetition changes nothing."""

    def load_progress(self, repetition: int) -> Mapping[str, AnyArray] | None:
        """The last checkpoint, or None."""

    def save_progress(self, repetition: int, state: Mapping[str, AnyArray]) -> None:
        """Replace the checkpoint, atomically."""

    def has_part(self, repetition: int, part: int) -> bool:
        """Whether a part of a repetition is finished and kept."""

    def load_part(self, repetition: int, part: int) -> Mapping[str, AnyArray] | None:
        """A finished part of a repetition, or None."""

    def put_part(self, repetition: int, part: int, arrays: Mapping[str, AnyArray]) -> None:
        """Store a finished part of a repetition, atomically."""


def row_batches(n_rows: int, size: int) -> Iterator[tuple[int, int]]:
    """(start, stop) of consecutive batches of at most `size` rows."""
    for start in range(0, n_rows, size):
        yield start, min(start + size, n_rows)


def slice_rows(rows: Rows, start: int, stop: int) -> Rows:
    """Rows start..stop-1 of sparse or dense rows, without a copy."""
    return rows.slice(start, stop) if isinstance(rows, SparseRows) else rows[start:stop]


def take_rows(rows: Rows, which: IntArray) -> Rows:
    """The given rows of sparse or dense rows, copied."""
    return rows.take(which) if isinstance(rows, SparseRows) else np.ascontiguousarray(rows[which])


def shortened(value: object, length: int = 43) -> str:
    """The repr of a value, cut to at most `length` characters."""
    shown = repr(value)
    return shown if len(shown) <= length else f"{shown[: length - 3]}..."


def nine_digits(values: FloatArray) -> list[float]:
    """float32 numbers as Python floats, with the nine digits that identify them and no more."""
    return [float(f"{value:.9g}") for value in values.tolist()]


def check_k(k: int) -> int:
    """k as a whole number of at least 1."""
    if isinstance(k, bool) or not isinstance(k, int | np.integer):
        raise InputError(f"k must be a whole number of at least 1, got {k!r}")
    if k < 1:
        raise InputError(f"k must be at least 1, got {k}")
    return int(k)
