"""DSSM as the paper has it (section 4.3.1): one table of token vectors, averaged, for queries and titles alike.

The cosine of a query and a purchased product is to be above 0.9, of a query and a random product below 0.1; a squared
hinge on either side, six random products for each purchase. Answers are exact nearest neighbours.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch.nn.functional import normalize

from benchmarks.peers.adapter import Settings
from benchmarks.peers.hashing import hashed_rows
from benchmarks.peers.search_data import Training
from xmach.features import HashedText
from xmach.types import FloatArray, IntArray, SparseRows, row_batches

PURCHASED, RANDOM, N_RANDOM = 0.9, 0.1, 6  # the paper's thresholds, and random products a purchase
_TEXTS = 4096  # embedded at a time
_CELLS = 2**25  # cosines at a time: 128 MiB


class Dssm:
    """Settings: `epochs`, `learning_rate`, `batch_size`, `dimensions`, `n_features` (rows of the table), `seed`;
    `most_steps`, after which training ends whatever is left: for whoever wants to know the memory that it takes.

    The random products of a batch are drawn from as many products as it has purchases, six anew for each purchase:
    embedding six titles for every purchase would take four times as long, and learn from the same pairs on average.
    """

    def __init__(self, settings: Settings, folder: Path) -> None:
        self._settings, self._folder = settings, folder
        self._text = HashedText(settings.get("n_features", 80_000))
        torch.set_num_threads(1)

    def warm_up(self) -> None:
        """Let the text kernels be compiled or read, and PyTorch load what an optimizer needs: that takes seconds."""
        self._text.transform(["a lamp"])
        weight = torch.nn.Parameter(torch.zeros(2))
        adam = torch.optim.Adam([weight], fused=True)
        weight.sum().backward()
        adam.step()

    def prepare(self, data: Training) -> None:
        """Hash the texts; a row's purchases become pairs."""
        texts, bought, _ = data.rows(self._settings.get("title_parts", 0), self._settings.get("seed", 0))
        self._queries = hashed_rows(self._text, texts, self._folder)
        own = len(data.queries)
        self._titles = self._queries.slice(own, own + len(data.titles))  # titles are the rows after the queries
        self._pairs = np.repeat(np.arange(bought.n_rows), np.diff(bought.indptr)), bought.indices.astype(np.int64)

    def train(self) -> None:
        """Adam over all pairs, shuffled every epoch, its rate decaying to zero."""
        settings, (rows, products) = self._settings, self._pairs
        draw = np.random.default_rng(settings.get("seed", 0))
        torch.manual_seed(settings.get("seed", 0))
        self._table = torch.nn.EmbeddingBag(self._text.n_features, settings.get("dimensions", 256), mode="mean")
        epochs, size = settings.get("epochs", 5), settings.get("batch_size", 1024)
        left = settings.get("most_steps", sys.maxsize)
        adam = torch.optim.Adam(self._table.parameters(), settings.get("learning_rate", 2e-3), fused=True)
        total = epochs * -(-len(rows) // size)
        decay = torch.optim.lr_scheduler.LambdaLR(adam, lambda step: max(0.0, 1.0 - step / total))
        for _ in range(epochs):
            order = draw.permutation(len(rows))
            for start, stop in islice(row_batches(len(order), size), left):
                left -= 1
                batch = order[start:stop]
                adam.zero_grad()
                self._loss(self._queries.take(rows[batch]), products[batch], draw).backward()
                adam.step()
                decay.step()

    def _loss(self, queries: SparseRows, bought: IntArray, draw: np.random.Generator) -> Any:
        """The mean over purchases of their squared hinge and those of their six random products."""
        n = len(bought)
        pool = draw.integers(0, self._titles.n_rows, n)
        chosen = torch.from_numpy(draw.integers(0, n, (n, N_RANDOM)))
        asked, right, wrong = (
            self._embed(rows) for rows in (queries, self._titles.take(bought), self._titles.take(pool))
        )
        purchased = (asked * right).sum(dim=1)  # (n,)
        random = torch.gather(asked @ wrong.T, 1, chosen)  # (n, 6)
        short = (PURCHASED - purchased).clamp(min=0).square()
        above = (random - RANDOM).clamp(min=0).square()
        return (short + above.sum(dim=1)).mean()

    def _embed(self, rows: SparseRows) -> Any:
        """Unit vectors (n, dimensions): the mean of the token vectors; a token that occurs twice counts once."""
        tokens, offsets = torch.from_numpy(rows.indices.astype(np.int64)), torch.from_numpy(rows.indptr[:-1].copy())
        return normalize(self._table(tokens, offsets), dim=1)

    def save(self) -> dict[str, Any]:
        """The table, and the vectors of all products."""
        with torch.no_grad():
            np.save(self._folder / "table.npy", self._table.weight.numpy())
            vectors = np.lib.format.open_memmap(
                self._folder / "products.npy", "w+", np.float32, (self._titles.n_rows, self._table.embedding_dim)
            )
            for start, stop in row_batches(self._titles.n_rows, _TEXTS):
                vectors[start:stop] = self._embed(self._titles.slice(start, stop)).numpy()
            vectors.flush()
        return {"parameters": self._table.weight.numel()}

    def open(self, answering: Settings) -> None:
        """Read both into memory: neighbours are looked for among all products."""
        table = torch.from_numpy(np.load(self._folder / "table.npy"))
        self._table = torch.nn.EmbeddingBag.from_pretrained(table, mode="mean")
        self._products = torch.from_numpy(np.load(self._folder / "products.npy"))  # (K, dimensions)

    def top(self, texts: Sequence[str], k: int) -> IntArray:
        """The nearest products by cosine."""
        parts = []
        for vectors in self._vectors(texts, max(1, _CELLS // len(self._products))):
            found = torch.topk(vectors @ self._products.T, min(k, len(self._products)), dim=1)
            parts.append(found.indices.numpy())
        best: IntArray = np.concatenate(parts)
        return np.pad(best, ((0, 0), (0, k - best.shape[1])), constant_values=-1)

    def scores(self, texts: Sequence[str], candidates: SparseRows) -> FloatArray:
        """Cosines."""
        parts, row = [], 0
        for vectors in self._vectors(texts, _TEXTS):
            for vector in vectors:
                products = torch.from_numpy(candidates.row(row)[0].astype(np.int64))
                parts.append((self._products[products] @ vector).numpy())
                row += 1
        return np.concatenate(parts)

    def _vectors(self, texts: Sequence[str], size: int) -> Iterator[Any]:
        rows = self._text.transform(texts)
        with torch.no_grad():
            for start, stop in row_batches(rows.n_rows, min(size, _TEXTS)):
                yield self._embed(rows.slice(start, stop))
