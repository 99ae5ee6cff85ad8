"""The decoder: from bucket probabilities (n, R, B) to the k best labels, reading the count-min sketch back."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from xmach._kernels.scan import score_labels
from xmach.buckets import UniversalHashes, as_signatures
from xmach.decoding.estimators import RULES, Rule, as_probabilities, prepare_cells, rule_of
from xmach.decoding.exact import scan
from xmach.errors import InputError, ParameterError
from xmach.planning import usable_cores
from xmach.types import AnyArray, BoolArray, FloatArray, IntArray, TopK, check_k, row_batches

Search = Callable[[FloatArray, AnyArray, BoolArray, Rule, int], tuple[FloatArray, IntArray]]
SEARCHES: dict[str, Search] = {"exact": scan}
INDEXES = ("stored",)


class Decoder:
    """Finds the k best of K labels from bucket probabilities; ties go to the smaller id.

    `seen` (K,) tells which labels had a training row; the others rank behind all of those unless asked for: their
    buckets' probability belongs to their neighbours.
    """

    def __init__(
        self,
        hashes: UniversalHashes | AnyArray,
        estimator: str = "mean",
        search: str = "auto",
        index: str = "auto",
        seen: BoolArray | None = None,
    ) -> None:
        rule_of(estimator)
        if search not in ("auto", *SEARCHES):
            raise ParameterError(f"search must be one of auto, {', '.join(SEARCHES)}, got {search!r}")
        if index not in ("auto", *INDEXES):
            raise ParameterError(f"index must be one of auto, {', '.join(INDEXES)}, got {index!r}")
        self.estimator = estimator
        self.search = "exact" if search == "auto" else search
        self.signatures = as_signatures(hashes)  # (K, R)
        self._collision = hashes.collision_probability if isinstance(hashes, UniversalHashes) else None
        self._highest = int(self.signatures.max())
        if seen is not None and np.shape(seen) != (self.n_labels,):
            raise InputError(f"seen must have one entry for each of the {self.n_labels} labels, got {np.shape(seen)}")
        self._seen = np.zeros(0, np.bool_) if seen is None or bool(np.all(seen)) else np.asarray(seen, np.bool_)

    @property
    def n_labels(self) -> int:
        """K."""
        return int(self.signatures.shape[0])

    def top_k(
        self,
        sketch: FloatArray,
        k: int = 5,
        *,
        estimator: str | None = None,
        probabilities: bool = False,
        include_unseen: bool = False,
        threads: int | None = None,
    ) -> TopK:
        """The k best labels of each row; with k beyond K, all labels.

        `probabilities=True` turns scores into estimates of the probability (for `mean`, the unbiased one of Theorem 1).
        Memory beyond the arguments is O(n k) and, for `log`, a copy of the sketch; never n x K.
        """
        name = self.estimator if estimator is None else estimator
        rule, k = rule_of(name), min(check_k(k), self.n_labels)
        cells = prepare_cells(self._checked(sketch), rule)
        mask = np.zeros(0, np.bool_) if include_unseen else self._seen
        search = SEARCHES[self.search]

        def part(bounds: tuple[int, int]) -> tuple[FloatArray, IntArray]:
            return search(cells[slice(*bounds)], self.signatures, mask, rule, k)

        workers = min(len(cells), usable_cores() if threads is None else threads)
        if workers <= 1:
            scores, ids = part((0, len(cells)))
        else:  # the kernels release the GIL
            with ThreadPoolExecutor(workers) as pool:
                parts = list(pool.map(part, row_batches(len(cells), -(-len(cells) // workers))))
            scores, ids = np.concatenate([s for s, _ in parts]), np.concatenate([i for _, i in parts])
        if probabilities:
            scores = as_probabilities(scores, name, self._collision_of(cells))
        return TopK(ids, scores, ids)

    def scores(self, sketch: FloatArray, estimator: str | None = None, probabilities: bool = False) -> FloatArray:
        """The (n, K) scores of all labels: for few labels, or few rows."""
        name = self.estimator if estimator is None else estimator
        cells = prepare_cells(self._checked(sketch), rule_of(name))
        out = np.empty((len(cells), self.n_labels), np.float32)
        score_labels(cells, self.signatures, RULES[name].merge, out)
        return as_probabilities(out, name, self._collision_of(cells)) if probabilities else out

    def _collision_of(self, cells: FloatArray) -> float:
        """The hashes' collision probability; 1/B for a table of buckets that no known hash gave."""
        return 1.0 / cells.shape[2] if self._collision is None else self._collision

    def _checked(self, sketch: FloatArray) -> FloatArray:
        cells = np.ascontiguousarray(sketch, dtype=np.float32)
        n_repetitions = self.signatures.shape[1]
        if cells.ndim != 3 or cells.shape[1] != n_repetitions or cells.shape[2] <= self._highest:
            raise InputError(
                f"bucket probabilities must be (rows, {n_repetitions} repetitions, more than {self._highest} buckets), "
                f"got shape {cells.shape}"
            )
        if not np.isfinite(cells).all():
            i, r, b = (int(place[0]) for place in np.nonzero(~np.isfinite(cells)))
            raise InputError(f"bucket probabilities must be finite, got {cells[i, r, b]} at row {i}, ({r}, {b})")
        return cells


def decode(
    sketch: FloatArray,
    signatures: UniversalHashes | AnyArray,
    k: int = 5,
    estimator: str = "mean",
    search: str = "auto",
) -> TopK:
    """The k best labels of each row, in one call; to answer more than once, keep a `Decoder`."""
    return Decoder(signatures, estimator, search).top_k(sketch, k)
