"""Label profiles: the unit-length sum of a label's rows, pruned and in 8 bits, stored as one list per feature.

The lists are those of `models.linear` without biases, with a label in the place of a bucket.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property

import numpy as np

from xmach._kernels.rank.centroids import fill_profiles, make_sums
from xmach._kernels.rank.lengths import square_lengths
from xmach._kernels.train.weight_lists import WeightLists
from xmach.errors import InputError, ParameterError
from xmach.models.bucket_weights import BucketWeights
from xmach.models.joining import joined_arrays
from xmach.models.linear_arrays import checked_lists, read_only
from xmach.parameters import whole
from xmach.ranking.label_rows import LabelRows
from xmach.ranking.profile_search import ProfileSearch, Similarities
from xmach.types import AnyArray, BoolArray, IntArray, SparseRows

MOST_ENTRIES = 512
ENERGY = 0.99
LEAST_ENERGY = 0.5


def profile_part(
    rows: SparseRows, positives: LabelRows, most: int = MOST_ENTRIES, energy: float = ENERGY
) -> BucketWeights:
    """Return the profiles of a range of labels from scaled training rows; biases are zero.

    A profile is the sum of weight * row over the label's rows, scaled to unit length. It keeps its largest entries
    until their squares sum to at least `energy` (0.5 to 1), but at most `most` entries. On a tie the entry of the
    smaller feature stays. A label without rows, or whose rows sum to zero, has no entries. The result does not depend
    on how labels are divided into ranges.
    """
    most = whole("most", most, 1)
    if not LEAST_ENERGY <= energy <= 1.0:
        raise ParameterError(f"energy must be a number from {LEAST_ENERGY} to 1, got {energy!r}")
    if len(positives.rows) and not 0 <= positives.rows.min() <= positives.rows.max() < rows.n_rows:
        raise InputError(f"{positives} has rows outside 0 to {rows.n_rows - 1:,}")
    if positives.weighted and len(positives.weights) != len(positives.rows):
        raise InputError(f"{positives} has {len(positives.weights):,} weights")
    room = _most_entries(rows, positives, min(most, rows.n_columns))
    starts, features, values = np.empty(len(positives.starts), np.int64), np.empty(room, np.int32), np.empty(room, "f4")
    given = [read_only(array) for array in (rows.indptr, rows.indices, rows.values)]
    weights = positives.weights if positives.weighted else np.ones(len(positives.rows), np.float32)
    lists = [read_only(array) for array in (positives.starts, positives.rows, weights)]
    sums = make_sums(rows.n_columns, most)
    fill_profiles(
        given[0], given[1], given[2], lists[0], lists[1], lists[2], float(energy), sums, starts, features, values
    )
    size = starts[-1]
    biases = np.zeros(len(starts) - 1, np.float32)
    return BucketWeights(positives.first, starts, features[:size].copy(), values[:size].copy(), biases)


def _most_entries(rows: SparseRows, positives: LabelRows, most: int) -> int:
    """A bound for the entries of all profiles: none has more than its rows have values."""
    lengths = rows.indptr[positives.rows + 1] - rows.indptr[positives.rows]
    ends = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)])
    values_of_labels = ends[positives.starts[1:]] - ends[positives.starts[:-1]]
    return int(np.minimum(values_of_labels, most).sum())


def least_bytes(n_features: int, n_labels: int, start_bytes: int = 4) -> int:
    """The bytes of profiles without any entry: of starts and scales."""
    return start_bytes * (n_features + 1) + 4 * n_labels


def _fixed_bytes(n_features: int, n_labels: int, most_bytes: int) -> int:
    """The bytes of starts and scales; raise InputError if they are more than the limit of all bytes."""
    fixed = least_bytes(n_features, n_labels, 4 if most_bytes < 2**33 else 8)  # an entry takes at least 2 bytes
    if fixed > most_bytes:
        raise InputError(
            f"profiles of {n_labels:,} labels over {n_features:,} features take {fixed:,} bytes without any entry, "
            f"but there is room for {most_bytes:,}"
        )
    return fixed


class Profiles:
    """The profiles of K labels; make them with `join` or `from_arrays`, which check the arrays."""

    def __init__(self, lists: WeightLists) -> None:
        self._lists = lists

    def __repr__(self) -> str:
        return f"<Profiles of {self.n_labels:,} labels over {self.n_features:,} features, {self.n_weights:,} weights>"

    def __reduce__(self) -> tuple[type[Profiles], tuple[WeightLists]]:
        return Profiles, (self._lists,)

    @classmethod
    def join(
        cls, parts: Sequence[BucketWeights], n_features: int, n_labels: int, most_bytes: int | None = None
    ) -> Profiles:
        """Return the profiles of parts that together have every label exactly once, in any order.

        Every profile is scaled to unit length again, as it is after pruning and rounding. With `most_bytes`,
        every profile keeps its largest entries up to one share of its squared length, so that the arrays take at most
        that many bytes. Raises InputError if they cannot, or if a label is missing or given twice.
        """
        if most_bytes is not None:
            most_bytes = whole("most_bytes", most_bytes, 0) - _fixed_bytes(n_features, n_labels, most_bytes)
        arrays = joined_arrays(parts, n_features, n_labels, 8, most_bytes=most_bytes, unit="label")
        squares = np.zeros(n_labels, np.int64)
        square_lengths(arrays["starts"], arrays["gaps"], arrays["codes"], squares)
        scales = np.zeros(n_labels, np.float64)
        np.divide(1.0, np.sqrt(squares), out=scales, where=squares > 0)
        return cls.from_arrays(arrays | {"scales": scales.astype(np.float32)})

    @property
    def n_features(self) -> int:
        """d."""
        return len(self._lists.starts) - 1

    @property
    def n_labels(self) -> int:
        """K."""
        return len(self._lists.scales)

    @cached_property
    def n_weights(self) -> int:
        """The number of weights that are not 0; fillers do not count."""
        return int(np.count_nonzero(self._lists.codes))

    def present(self) -> BoolArray:
        """Which labels (K,) have a profile."""
        present: BoolArray = self._lists.scales > 0
        return present

    @property
    def n_bytes(self) -> int:
        """The bytes of the arrays."""
        return sum(array.nbytes for array in self.arrays().values())

    def arrays(self) -> dict[str, AnyArray]:
        """Return starts, gaps, codes and scales by name."""
        return {name: array for name, array in self._lists._asdict().items() if name != "biases"}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, AnyArray]) -> Profiles:
        """Rebuild the profiles from `arrays`, without a copy. Raises InputError if they are damaged."""
        return cls(checked_lists(arrays, "profile index", biased=False))

    @cached_property
    def _search(self) -> ProfileSearch:
        return ProfileSearch(self._lists)

    def search(
        self,
        rows: SparseRows,
        indptr: IntArray,
        ids: IntArray,
        m: int,
        allowed: BoolArray | None = None,
        *,
        threads: int | None = None,
    ) -> Similarities:
        """Return the cosines of scaled rows with their candidates, and the m best labels of each row.

        Row i has the candidates ids[indptr[i]:indptr[i + 1]]. The best labels have positive cosines; ties go to the
        smaller id; only labels in `allowed` (K,) are among them. Places without a label have id -1 and cosine 0. A row
        without values has cosines 0. A row's results do not depend on the other rows or on the number of threads.
        """
        return self._search(rows, indptr, ids, m, allowed, threads)
