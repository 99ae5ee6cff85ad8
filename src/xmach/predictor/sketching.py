"""The first stage: rows through all bucket models, a batch at a time."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import NamedTuple, Protocol

import numpy as np
from threadpoolctl import ThreadpoolController

from xmach.block_sizes import SKETCH_BYTES, SKETCH_ROWS
from xmach.features import Scaler
from xmach.models.network import ROWS_ALIKE
from xmach.planning import usable_cores
from xmach.types import BucketModel, FloatArray, Rows, row_batches, slice_rows

FEW_ROWS = min(16, ROWS_ALIKE)  # up to this many, a second thread does not pay, and each row has the bits it has alone


class Pages(Protocol):
    """Pages of a model that is stored in files."""

    def expect(self, rows: Rows) -> None:
        """Prepare for the rows that are answered next."""


class Batch(NamedTuple):
    """Consecutive rows with their bucket probabilities; the next batch overwrites these."""

    start: int
    stop: int
    rows: Rows  # (n, d), scaled
    sketch: FloatArray  # (n, R, B)


class Sketcher(NamedTuple):
    """Computes bucket probabilities, with the R bucket models of a predictor."""

    models: tuple[BucketModel, ...]
    n_buckets: int
    scaler: Scaler
    pages: Pages | None

    def batches(self, rows: Rows, threads: int | None = None, *, scaled: bool = False) -> Iterator[Batch]:
        """Consecutive batches of rows with their bucket probabilities; each batch overwrites the one before.

        `scaled`: the rows are scaled already.

        Each thread computes one repetition at a time, with linear algebra on one thread: so a product has the same bits
        whatever the number of cores, and threads of two kinds do not wait for each other's core.
        """
        n_rows, repetitions = rows.shape[0], range(len(self.models))
        size = min(n_rows, self.batch_size)
        sketch = np.empty((size, len(self.models), self.n_buckets), np.float32)  # (n, R, B)
        for start, stop in row_batches(n_rows, size):
            part, out = rows if size == n_rows else slice_rows(rows, start, stop), sketch[: stop - start]
            if self.pages is not None:
                self.pages.expect(part)
            ready = part if scaled else self.scaler.apply(part)

            def forward(r: int, ready: Rows = ready, out: FloatArray = out) -> None:
                out[:, r] = self.models[r].probabilities(ready)

            workers = 1 if len(out) <= FEW_ROWS else min(len(self.models), threads or usable_cores())
            with _linear_algebra().limit(limits=1):
                if workers == 1:
                    for r in repetitions:
                        forward(r)
                else:
                    with ThreadPoolExecutor(workers) as pool:
                        list(pool.map(forward, repetitions))
            yield Batch(start, stop, ready, out)

    @property
    def batch_size(self) -> int:
        """Rows of a batch; it holds their sketch in memory."""
        return max(1, min(SKETCH_ROWS, SKETCH_BYTES // (4 * len(self.models) * self.n_buckets)))


@cache
def _linear_algebra() -> ThreadpoolController:
    """The libraries whose threads can be limited; finding them takes milliseconds."""
    return ThreadpoolController()
