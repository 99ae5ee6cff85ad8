"""The linear ranker: one sparse classifier per label, stored as one list per label, for scoring shortlists.

Label l has the entries starts[l]..starts[l+1]. An entry's feature is the sum of its label's gaps up to it, minus 1, and
its weight is codes * scales[l]. If the next feature is further away than the largest gap (255 or 65,535), fillers lead
to it: entries with code 0 and the largest gap.

Time per row and candidate, and megabytes, against other layouts; one core of a busy AMD EPYC, the least of 7 turns:

                                       citeulike_t          tate               short texts
    labels, features                   53K, 20K             16K, 132K          100K, 262K
    weights per candidate              149                  3142               248
    this layout                        190 ns    9.7 MB      640 ns   7.3 MB    350 ns    45 MB
    without leaving out blocks         190 ns               2620 ns             410 ns
    CSR, scattered row                 300 ns   24.9 MB     2980 ns  19.2 MB    760 ns   120 MB
    CSR, binary search                 580 ns               1120 ns             840 ns
    CSR, merge                         950 ns              11200 ns            1420 ns
    by feature (`models/linear.py`)    890 ns    9.6 MB      640 ns   7.8 MB   1620 ns    46 MB

The first two are trained rankers with C = 1 and 60 and 50 candidates per row; on tate most candidates are frequent
labels with thousands of weights. The last one is random: 100 candidates, 15 Zipf features per row.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from xmach._kernels.rank.descent import CsrRows
from xmach._kernels.rank.label_lists import BLOCK, block_ends, candidate_margins
from xmach._kernels.train.weight_lists import WeightLists, damaged_feature
from xmach.errors import InputError
from xmach.models.bucket_weights import BucketWeights
from xmach.models.linear_arrays import LARGEST_CODE, checked_types, read_only, typed
from xmach.planning import by_rows
from xmach.ranking.label_joining import joined_lists
from xmach.ranking.pairs import checked_pairs
from xmach.types import AnyArray, FloatArray, IntArray, SparseRows

_MOST_FEATURES = 2**31 - 1  # columns are int32


@dataclass(frozen=True, repr=False)
class LabelWeights:
    """Trained classifiers of all labels; make them with `join` or `from_arrays`, which check the arrays."""

    n_features: int  # d
    starts: AnyArray  # (K + 1,) uint32; int64 from 2^32 entries on
    gaps: AnyArray  # (m,) uint8 or uint16
    codes: AnyArray  # (m,) int8, or float32 weights
    scales: FloatArray  # (K,)
    biases: FloatArray  # (K,)

    def __repr__(self) -> str:
        shape = f"{self.n_labels:,} labels x {self.n_features:,} features, {self.n_weights:,} weights"
        return f"<LabelWeights {shape} of {8 * self.codes.itemsize} bits>"

    @classmethod
    def join(
        cls,
        parts: Sequence[BucketWeights],
        n_features: int,
        n_labels: int,
        *,
        bits: int = 8,
        most_bytes: int | None = None,
    ) -> LabelWeights:
        """Return the ranker of parts that together have every label exactly once, in any order.

        Each label is quantised by itself, so that the ranker does not depend on how labels were split into parts. With
        bits=32, weights stay float32. `most_bytes` limits the bytes of all arrays: weights below a threshold that is
        the same for all labels are dropped until the rest fits; at least 99.5 % of the limit are used unless many
        weights are equal. Raises InputError if a label is missing or given twice, and NotEnoughMemory if not even the
        biases fit.
        """
        return cls.from_arrays(joined_lists(parts, n_features, n_labels, bits, most_bytes))

    @property
    def n_labels(self) -> int:
        """K."""
        return len(self.biases)

    @property
    def n_weights(self) -> int:
        """The number of weights that are not 0; fillers do not count."""
        return int(np.count_nonzero(self.codes))

    @property
    def n_bytes(self) -> int:
        """The bytes of all arrays."""
        return sum(array.nbytes for array in self.arrays().values())

    def margins(self, rows: SparseRows, indptr: IntArray, ids: IntArray, threads: int | None = None) -> FloatArray:
        """Return (len(ids),) margins: of the candidates ids[indptr[i]:indptr[i + 1]] for row i.

        A row gets the same bits in every batch. Rows are divided among `threads`, by default one for each usable core.
        """
        if rows.n_columns != self.n_features:
            raise InputError(f"the ranker was trained on {self.n_features} features, the rows have {rows.n_columns}")
        indptr, ids = checked_pairs(indptr, ids, rows.n_rows, self.n_labels)
        out = np.empty(len(ids), np.float32)
        lists, ends = self._lists, self._block_ends
        matrix = CsrRows(read_only(rows.indptr), read_only(rows.indices), read_only(rows.values))

        def score(start: int, stop: int) -> None:
            part = CsrRows(matrix.indptr[start : stop + 1], matrix.indices, matrix.values)
            candidate_margins(part, lists, ends, self.n_features, indptr[start : stop + 1], ids, out)

        by_rows(score, rows.n_rows, threads)
        return out

    @property
    def _lists(self) -> WeightLists:
        return WeightLists(*map(read_only, (self.starts, self.gaps, self.codes, self.scales, self.biases)))

    @cached_property
    def _block_ends(self) -> AnyArray:
        """The last features of blocks of entries: 4 bytes more for every 32 entries."""
        ends = np.zeros(len(self.gaps) // BLOCK + 1, np.uint32)
        block_ends(read_only(self.starts), read_only(self.gaps), ends)
        return read_only(ends)

    def arrays(self) -> dict[str, AnyArray]:
        """Return the six arrays by name."""
        return {"n_features": np.array([self.n_features], np.int64), **self._lists._asdict()}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, AnyArray]) -> LabelWeights:
        """Rebuild the ranker from `arrays`, without a copy. Raises InputError if they are damaged."""
        size = typed("n_features", arrays.get("n_features"), (np.int64,), "ranker")
        if len(size) != 1 or not 1 <= size[0] <= _MOST_FEATURES:
            raise InputError(f"'n_features' of the ranker must be one number from 1 to {_MOST_FEATURES}")
        n_features, lists = int(size[0]), checked_types(arrays, "ranker")
        if len(lists.starts) != len(lists.scales) + 1:
            raise InputError(f"the ranker has {len(lists.scales):,} labels, but {len(lists.starts):,} starts")
        if max(float(lists.scales.max()), float(np.abs(lists.biases).max())) > LARGEST_CODE:
            raise InputError(f"a scale or bias of the ranker is beyond {LARGEST_CODE:g}: it is damaged")
        label = damaged_feature(lists.starts, lists.gaps, n_features)
        if label >= 0:
            raise InputError(f"the weights of label {label:,} of the ranker are damaged")
        return cls(n_features, *lists)
