"""The kernels that call hand-written LLVM, each with and without it.

Each entry replaces one function of `xmach._kernels.llvm` by plain Numba in the kernel that calls it, on a shape bound
by memory and on one that fits in the caches. The last two entries replace all of them and time a whole training step.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from itertools import cycle
from types import FunctionType
from typing import Any, NamedTuple

import numba
import numpy as np

from benchmarks.micro import plain_loops as plain
from benchmarks.micro.rows import zipf_rows
from benchmarks.sketches import DISTRIBUTIONS, sketch
from xmach._kernels.decode import lists, pruned
from xmach._kernels.train import dense, softmax, sparse
from xmach.buckets import UniversalHashes, fill_tables, new_tables, stored
from xmach.features import fit_scaler
from xmach.learners import LabelledRows, NetworkSettings, layers
from xmach.learners import network as network_learner
from xmach.learners.buffers import BatchTransposer
from xmach.learners.network import NetworkTrainer
from xmach.models import network as network_model
from xmach.types import AnyArray, SparseRows

LLVM, PLAIN, NUMPY = "LLVM", "plain", "plain, np.exp"
ADAM = dense.AdamRates(*(np.float32(number) for number in (1e-3, 0.9, 0.999, 1e-8, 0.99)))
MEMORY, CACHE = (128, 101_938, 672, 500), (128, 500, 60, 128)  # rows, features, features a row, width

Arrays = tuple[AnyArray, ...]


class Entry(NamedTuple):
    """One kernel with hand-written and with plain walks. All contestants start from the same arrays."""

    walk: str
    shape: str
    contestants: Mapping[str, Callable[[], Arrays]]


def entries() -> Iterator[Entry]:
    """Each walk on both kinds of shapes, then the training steps."""
    for shape in (MEMORY, CACHE, (128, 1000, 60, 64)):
        yield from _sparse_entries(*shape)
    for size in ((500, 10_000), (64, 128)):
        yield _dense_entry(*size)
    for size in ((256, 10_000), (128, 500)):
        yield from _softmax_entries(*size)
    for labels in ((670_000, 10_000, 32), (20_000, 500, 16)):
        yield _search_entry(*labels)
    yield _step_entry(*MEMORY[:3], (500, 500), 2000)
    yield _step_entry(*CACHE[:3], (128,), 500)


def with_walks(function: Any, **walks: Any) -> Any:
    """Compile a copy of a kernel that calls other functions under the given names."""
    source = function.py_func
    copy = FunctionType(source.__code__, {**source.__globals__, **walks}, source.__name__)
    return numba.njit(copy, nogil=True, error_model="numpy")


_FORWARD = with_walks(sparse.sparse_forward, add_rows=plain.add_rows)
_ADAM = with_walks(dense.adam, adam_row=plain.adam_row)


def _loss(**walks: Any) -> Any:
    return with_walks(softmax.softmax_loss, exponentials=with_walks(softmax.exponentials, **walks))


def _sparse_entries(n_rows: int, n_features: int, each: int, width: int) -> Iterator[Entry]:
    """The first layer. Rows of three features call only `add_lines`; multiples of four call only `add_four_lines`."""
    weights = np.random.default_rng(0).standard_normal((n_features, width), dtype=np.float32)
    bias = np.zeros(width, np.float32)

    def forward(kernel: Any, rows: SparseRows, out: AnyArray) -> Arrays:
        kernel(rows.indptr, rows.indices, rows.values, weights, bias, out)
        return (out,)

    for walk, count, in_row in (("add_lines", n_rows * each // 3, 3), ("add_four_lines", n_rows, each)):
        rows, ways = zipf_rows(count, n_features, in_row), {LLVM: sparse.sparse_forward, PLAIN: _FORWARD}
        shape = f"{count:,} rows of {in_row}, d = {n_features:,}, H = {width}"
        outs = {name: np.empty((count, width), np.float32) for name in ways}
        yield Entry(walk, shape, {name: partial(forward, way, rows, outs[name]) for name, way in ways.items()})

    lists = BatchTransposer(n_features).transpose(zipf_rows(n_rows, n_features, each))
    delta = np.random.default_rng(1).standard_normal((n_rows, width), dtype=np.float32)

    def update(kernel: Any, state: Arrays) -> Arrays:
        kernel(*lists, delta, *state, ADAM)
        return state

    ways = {LLVM: sparse.sparse_adam, PLAIN: with_walks(plain.sparse_adam, add_rows=sparse.add_rows)}
    states = {name: (weights.copy(), 0.01 * weights, np.abs(weights)) for name in ways}
    shape = f"{len(lists.features):,} of {n_features:,} rows, H = {width}"
    yield Entry("adam_lines", shape, {name: partial(update, way, states[name]) for name, way in ways.items()})


def _dense_entry(n_rows: int, width: int) -> Entry:
    """The optimizer of a dense layer."""
    gradient = np.random.default_rng(0).standard_normal((n_rows, width), dtype=np.float32)
    ways = {LLVM: dense.adam, PLAIN: _ADAM}
    states = {name: (gradient.copy(), 0.01 * gradient, np.abs(gradient)) for name in ways}
    places = np.arange(n_rows)

    def update(kernel: Any, state: Arrays) -> Arrays:
        weights, first, second = state
        kernel(weights, gradient, places, first, second, ADAM)
        return state

    shape = f"dense, {n_rows:,} x {width:,}"
    return Entry("adam_lines", shape, {name: partial(update, way, states[name]) for name, way in ways.items()})


def _softmax_entries(n_rows: int, width: int) -> Iterator[Entry]:
    """The loss. It overwrites the logits, so the times include a copy of them."""
    draw = np.random.default_rng(0)
    logits, bias = draw.standard_normal((n_rows, width), dtype=np.float32), draw.random(width, dtype=np.float32)
    ones, buffer = np.ones(n_rows, np.float32), np.empty_like(logits)
    targets = dense.TargetBatch(np.arange(n_rows + 1), draw.integers(0, width, n_rows).astype(np.int32), ones)

    def loss(kernel: Any) -> Arrays:
        np.copyto(buffer, logits)
        sums = np.empty_like(bias)
        kernel(buffer, bias, targets, ones, sums)
        return sums, buffer

    for walk, others in (
        ("top_lines", {PLAIN: _loss(top_lines=plain.top_lines)}),
        ("power_lines", {PLAIN: _loss(power_lines=plain.power_lines), NUMPY: _loss(power_lines=plain.numpy_powers)}),
    ):
        ways = {LLVM: softmax.softmax_loss, **others}
        yield Entry(walk, f"softmax, {n_rows} x {width:,}", {name: partial(loss, way) for name, way in ways.items()})


def _search_entry(n_labels: int, n_buckets: int, n_repetitions: int) -> Entry:
    """The pruned search, which prefetches posting lists."""
    hashes = UniversalHashes.draw(n_labels, n_buckets, n_repetitions, 0)
    tables = new_tables(hashes)
    fill_tables(hashes, tables, threads=1)
    index, everything = stored(hashes, tables), np.zeros(0, np.bool_)
    scratch = lists.make_scratch(n_labels, n_repetitions, n_buckets, int(np.diff(index.offsets, axis=1).max()))
    cells = np.stack([sketch(hashes, distribution, seed) for seed in range(12) for distribution in DISTRIBUTIONS])

    def search(kernel: Any) -> Arrays:
        scores, ids = np.empty((len(cells), 100), np.float32), np.empty((len(cells), 100), np.int64)
        counts = np.zeros((len(cells), 4), np.int64)
        kernel(cells, index, everything, scratch, 0.35, scores, ids, counts)
        return scores, ids, counts

    read = with_walks(lists.read_lists, prefetch=plain.no_prefetch)
    readings = {name: with_walks(getattr(pruned, name), read_lists=read) for name in ("_find_bar", "_reach_bar")}
    ways = {LLVM: pruned.pruned_top_k, PLAIN: with_walks(pruned.pruned_top_k, **readings)}
    shape = f"{len(cells)} searches, K = {n_labels:,}, B = {n_buckets:,}, R = {n_repetitions}"
    return Entry("prefetch", shape, {name: partial(search, way) for name, way in ways.items()})


def _step_entry(n_rows: int, n_features: int, each: int, hidden: tuple[int, ...], n_buckets: int) -> Entry:
    """Training steps with all walks replaced."""
    features, n_labels = zipf_rows(4 * n_rows, n_features, each), 30_000
    ids = np.random.default_rng(1).integers(0, n_labels, 4 * n_rows).astype(np.int32)
    labels = SparseRows(np.arange(4 * n_rows + 1), ids, np.ones(4 * n_rows, np.float32), n_labels)
    hashes = UniversalHashes.draw(n_labels, n_buckets, 1)
    data = LabelledRows(features, labels, None, fit_scaler(features, "tfidf"), hashes, 0)
    loss = _loss(top_lines=plain.top_lines, power_lines=plain.power_lines)
    kernels = {  # (module, name) -> the function with LLVM, the plain one
        (network_model, "sparse_forward"): (sparse.sparse_forward, _FORWARD),
        (network_learner, "sparse_adam"): (sparse.sparse_adam, plain.sparse_adam),
        (layers, "adam"): (dense.adam, _ADAM),
        (layers, "adam_row"): (dense.adam_row, plain.adam_row),
        (network_learner, "LOSSES"): ({"softmax": softmax.softmax_loss}, {"softmax": loss}),
    }

    def steps(which: int) -> Callable[[], Arrays]:
        trainer = NetworkTrainer(n_features, n_buckets, NetworkSettings(hidden=hidden), seed=0, repetition=0)
        batches = cycle([trainer.prepare(data.batch(np.arange(n_rows) + n_rows * i)) for i in range(4)])

        def step() -> Arrays:
            for (module, name), ways in kernels.items():
                setattr(module, name, ways[which])
            trainer.step(next(batches), 1e-3, (0, 0))
            return tuple(layer.weights for layer in trainer.layers)

        return step

    shape = f"{n_rows} rows of {each}, {'-'.join(map(str, (n_features, *hidden, n_buckets)))}"
    return Entry("all, a training step", shape, {LLVM: steps(0), PLAIN: steps(1)})
