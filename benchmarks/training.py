"""One training step against the same network in plain PyTorch: one thread each, by turns, random Zipf rows.

PyTorch has an EmbeddingBag with per-sample weights, Linear layers, cross-entropy; once with SparseAdam for the
embedding and fused Adam for the rest, once with fused dense Adam for all. Batches are ready for all contestants; what
assembling ours takes (rows gathered, scaled, listed by feature, hashed to targets) is told apart: in training a second
thread does it. A row has one label, PyTorch's cheapest target.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from functools import partial
from itertools import cycle
from typing import Any, NamedTuple

import numpy as np
import torch
from threadpoolctl import threadpool_limits
from torch import nn

from benchmarks.contest import Spread, Times, alternate
from benchmarks.places import table, write_results
from xmach.buckets import UniversalHashes
from xmach.features import fit_scaler
from xmach.learners import LabelledRows, NetworkSettings
from xmach.learners.network import NetworkTrainer
from xmach.types import SparseRows

RATE = 1e-3
BATCHES = 12  # different ones, taken in turn
ROUNDS, TURN = 7, BATCHES  # turns of each contestant, steps a turn: every batch once, as often before turns begin
COMPARED = 30  # steps over which losses are compared
SKIP = 0.01
EXACT, SKIPPING, LAZY, DENSE = "xmach", f"xmach, skip {SKIP:g}", "PyTorch SparseAdam", "PyTorch fused Adam"


class Shape(NamedTuple):
    """A network and its rows."""

    name: str
    n_features: int
    nonzeros: int
    hidden: tuple[int, ...]
    n_buckets: int
    batch: int
    n_labels: int


SHAPES = (
    Shape("Wiki10-31K", 101_938, 670, (500, 500), 2000, 128, 30_938),
    Shape("Amazon-670K", 135_909, 75, (500, 500), 10_000, 256, 670_091),
    Shape("search", 80_000, 20, (256,), 5000, 512, 1_000_000),
    Shape("linear ODP", 422_713, 60, (), 32, 512, 105_033),
)


def main() -> None:
    """Time every shape, compare the losses, write the tables."""
    torch.set_num_threads(1)
    results = [_contest(shape) for shape in SHAPES]
    write_results("training", results, _table(results))


def zipf_rows(shape: Shape, n_rows: int, seed: int = 0) -> SparseRows:
    """Rows of counts whose features are drawn by Zipf's law, without a feature twice; ids tell nothing of frequency."""
    draw = np.random.default_rng(seed)
    cumulative = np.cumsum(1.0 / np.arange(1, shape.n_features + 1))
    ids, columns = draw.permutation(shape.n_features), []
    for _ in range(n_rows):
        row: set[int] = set()
        while len(row) < shape.nonzeros:
            more = np.searchsorted(cumulative, draw.random(shape.nonzeros) * cumulative[-1])
            row |= set(more[: shape.nonzeros - len(row)].tolist())
        columns.append(np.sort(ids[list(row)]))
    indptr = np.arange(n_rows + 1, dtype=np.int64) * shape.nonzeros
    values = draw.geometric(0.6, n_rows * shape.nonzeros).astype(np.float32)
    return SparseRows(indptr, np.concatenate(columns).astype(np.int32), values, shape.n_features)


def labelled(shape: Shape) -> LabelledRows:
    """The rows of all batches, a label each, more of the small ones."""
    n_rows = BATCHES * shape.batch
    features = zipf_rows(shape, n_rows)
    ids = (shape.n_labels * np.random.default_rng(1).random(n_rows) ** 3).astype(np.int32)
    labels = SparseRows(np.arange(n_rows + 1), ids, np.ones(n_rows, np.float32), shape.n_labels)
    hashes = UniversalHashes.draw(shape.n_labels, shape.n_buckets, 1)
    return LabelledRows(features, labels, None, fit_scaler(features, "tfidf"), hashes, 0)


class Network(nn.Module):  # type: ignore[misc]
    """The network as one writes it in PyTorch."""

    def __init__(self, trainer: NetworkTrainer, sparse: bool) -> None:
        super().__init__()
        first, *rest = trainer.layers
        given = torch.tensor(first.weights)
        self.bag = nn.EmbeddingBag.from_pretrained(
            given, freeze=False, mode="sum", sparse=sparse, include_last_offset=True
        )
        self.bias = nn.Parameter(torch.tensor(first.bias))
        linears = [nn.Linear(*layer.weights.shape) for layer in rest]
        with torch.no_grad():
            for linear, layer in zip(linears, rest, strict=True):
                linear.weight.copy_(torch.tensor(layer.weights.T))
                linear.bias.copy_(torch.tensor(layer.bias))
        self.rest = nn.ModuleList(linears)

    def forward(self, indices: torch.Tensor, offsets: torch.Tensor, values: torch.Tensor) -> torch.Tensor:
        layer: torch.Tensor = self.bag(indices, offsets, per_sample_weights=values) + self.bias
        for linear in self.rest:
            layer = linear(torch.relu(layer))
        return layer


def torch_steps(shape: Shape, rows: LabelledRows, sparse: bool) -> Iterator[float]:
    """PyTorch's steps over the batches in turn; each gives its mean loss."""
    network = Network(_trainer(shape), sparse)
    large = list(network.bag.parameters())
    small = [p for p in network.parameters() if all(p is not other for other in large)]
    if sparse:
        optimizers = [torch.optim.SparseAdam(large, lr=RATE), torch.optim.Adam(small, lr=RATE, fused=True)]
    else:
        optimizers = [torch.optim.Adam(large + small, lr=RATE, fused=True)]
    tensors = []
    for which in _batches(shape):
        scaled, targets, *_ = rows.batch(which)
        assert isinstance(scaled, SparseRows)
        parts = (scaled.indices.astype(np.int64), scaled.indptr, scaled.values, targets.buckets.astype(np.int64))
        tensors.append([torch.tensor(part) for part in parts])
    for indices, offsets, values, buckets in cycle(tensors):
        for optimizer in optimizers:
            optimizer.zero_grad(set_to_none=True)
        loss = nn.functional.cross_entropy(network(indices, offsets, values), buckets)
        loss.backward()
        for optimizer in optimizers:
            optimizer.step()
        yield loss.item()


def own_steps(shape: Shape, rows: LabelledRows, skip: float = 0.0) -> Iterator[float]:
    """Our steps over the batches in turn; each gives its mean loss."""
    trainer = _trainer(shape, skip)
    for number, batch in enumerate(cycle([trainer.prepare(rows.batch(which)) for which in _batches(shape)])):
        yield trainer.step(batch, RATE, (0, number)) / len(batch.weights)


def _trainer(shape: Shape, skip: float = 0.0) -> NetworkTrainer:
    settings = NetworkSettings(hidden=shape.hidden, skip_below=skip)
    return NetworkTrainer(shape.n_features, shape.n_buckets, settings, seed=0, repetition=0)


def _batches(shape: Shape) -> list[np.ndarray[Any, np.dtype[np.int64]]]:
    order = np.random.default_rng(2).permutation(BATCHES * shape.batch)
    return [order[start : start + shape.batch] for start in range(0, len(order), shape.batch)]


def _contest(shape: Shape) -> dict[str, Any]:
    """All contestants on one shape: their losses side by side, then their times by turns."""
    rows = labelled(shape)
    steps = {
        EXACT: own_steps(shape, rows),
        LAZY: torch_steps(shape, rows, True),
        DENSE: torch_steps(shape, rows, False),
    }
    if shape.hidden:
        steps[SKIPPING] = own_steps(shape, rows, SKIP)
    warm = {name: [next(each) for _ in range(BATCHES)] for name, each in steps.items()}
    times = alternate({name: partial(_turn, each) for name, each in steps.items()}, ROUNDS)
    parts = {name: _parts(shape, rows, skip) for name, skip in ((EXACT, 0.0), (SKIPPING, SKIP)) if name in steps}
    del steps
    return {"shape": shape._asdict(), "first losses": warm, "times": times.to_dict(), "steps a turn": TURN,
            "ratios": _ratios(times), "parts": parts, "loss difference": _loss_difference(shape, rows)}  # fmt: skip


def _turn(steps: Iterator[float]) -> None:
    """Some steps on end, as in training: after one step of another contestant the caches would hold nothing of ours."""
    for _ in range(TURN):
        next(steps)


def _ratios(times: Times) -> dict[str, dict[str, Any]]:
    """PyTorch's time as a multiple of each of ours."""
    ours, theirs = [name for name in (EXACT, SKIPPING) if name in times.seconds], (LAZY, DENSE)
    return {own: {other: times.ratio(other, own)._asdict() for other in theirs} for own in ours}


def _loss_difference(shape: Shape, rows: LabelledRows) -> float:
    """The largest relative difference between the losses of the exact step and of PyTorch's lazy one."""
    both = zip(range(COMPARED), own_steps(shape, rows), torch_steps(shape, rows, True), strict=False)
    return max(abs(mine / theirs - 1.0) for _, mine, theirs in both)


def _parts(shape: Shape, rows: LabelledRows, skip: float) -> dict[str, float]:
    """Milliseconds of a step by what is done, measured in a profile of its own."""
    trainer, batches = _trainer(shape, skip), _batches(shape)
    spent: dict[str, float] = dict.fromkeys(("assembly", "forward", "loss", "backward and Adam"), 0.0)
    wrapped = [(trainer, "_forward", "forward"), (trainer, "_loss", "loss")]
    for owner, name, part in wrapped:
        setattr(owner, name, _timed(getattr(owner, name), spent, part))
    with threadpool_limits(1):
        for number, which in enumerate(batches):
            if number == 2:
                spent.update(dict.fromkeys(spent, 0.0))
            begun = time.perf_counter()
            batch = trainer.prepare(rows.batch(which))
            ready = time.perf_counter()
            trainer.step(batch, RATE, (0, number))
            spent["assembly"] += ready - begun
            spent["backward and Adam"] += time.perf_counter() - ready
    spent["backward and Adam"] -= spent["forward"] + spent["loss"]
    return {part: 1000.0 * seconds / (len(batches) - 2) for part, seconds in spent.items()}


def _timed(function: Callable[..., Any], spent: dict[str, float], part: str) -> Callable[..., Any]:
    def run(*arguments: Any) -> Any:
        begun = time.perf_counter()
        result = function(*arguments)
        spent[part] += time.perf_counter() - begun
        return result

    return run


def _table(results: list[dict[str, Any]]) -> str:
    lines, shares = [], []
    for result in results:
        name, difference = result["shape"]["name"], f"{result['loss difference']:.1e}"
        for own, against in result["ratios"].items():
            lazy, dense = (Spread(**against[other]) for other in (LAZY, DENSE))
            better = min(lazy, dense)
            per_step = [f"{1000 * result['times'][each]['median'] / TURN:.1f}" for each in (own, LAZY, DENSE)]
            lines.append(
                [
                    name,
                    own,
                    *per_step,
                    str(lazy),
                    str(dense),
                    f"{better.median:.2f}",
                    difference if own == EXACT else "-",
                ]
            )
            shares.append([name, own, *(f"{ms:.1f}" for ms in result["parts"][own].values())])
    header = [
        "shape",
        "step",
        "ms",
        "SparseAdam, ms",
        "fused Adam, ms",
        "times SparseAdam",
        "times fused Adam",
        "times the better",
        "losses differ",
    ]
    parts = ["shape", "step", "assembly, ms", "forward", "loss", "backward and Adam"]
    return table(header, lines) + "\n" + table(parts, shares)


if __name__ == "__main__":
    main()
