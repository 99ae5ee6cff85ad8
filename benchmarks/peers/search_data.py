"""The data of a product search in a folder: titles, queries with what was bought, and questions to answer."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from xmach.types import AnyArray, FloatArray, SparseRows


@dataclass(frozen=True)
class Training:
    """What contestants learn from."""

    titles: list[str]  # (K,)
    queries: list[str]  # (n,)
    bought: SparseRows  # (n, K): how often
    sessions: FloatArray  # (n,) in which a query came up

    def rows(self, parts: int = 0, seed: int = 0) -> tuple[list[str], SparseRows, FloatArray]:
        """Texts, purchases and sessions of n + K rows: the queries, then every title as a query for its own product.

        After those come `parts` more rows for every title, each with some of its words.
        """
        n_products = len(self.titles)
        n_own = n_products * (1 + parts)
        bought = SparseRows(
            np.concatenate([self.bought.indptr, self.bought.nnz + 1 + np.arange(n_own)]),
            np.concatenate([self.bought.indices, np.tile(np.arange(n_products, dtype=np.int32), 1 + parts)]),
            np.concatenate([self.bought.values, np.ones(n_own, np.float32)]),
            n_products,
        )
        draw = np.random.default_rng(seed)
        texts = self.queries + self.titles
        for _ in range(parts):
            texts += some_words(self.titles, draw)
        return texts, bought, np.concatenate([self.sessions, np.ones(n_own, np.float32)])

    @classmethod
    def open(cls, folder: Path) -> Training:
        """From a folder that `write` made."""
        with np.load(folder / "training.npz") as arrays:
            bought = _rows(arrays, "bought")
            return cls(_lines(folder / "titles.txt"), _lines(folder / "queries.txt"), bought, arrays["sessions"])


@dataclass(frozen=True)
class Questions:
    """What contestants are asked, and what was right."""

    queries: list[str]  # (n,)
    bought: SparseRows  # (n, K): how often
    seen: SparseRows  # (n, K): clicked and not bought
    sessions: FloatArray  # (n,)

    @classmethod
    def open(cls, folder: Path) -> Questions:
        """From a folder that `write` made."""
        with np.load(folder / "questions.npz") as arrays:
            bought, seen = (_rows(arrays, name) for name in ("bought", "seen"))
            return cls(_lines(folder / "questions.txt"), bought, seen, arrays["sessions"])


def write(folder: Path, training: Training, questions: Questions, about: Mapping[str, Any]) -> None:
    """Write both into a folder that is not there yet, all or nothing, with a fingerprint of what was written."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    temporary = Path(tempfile.mkdtemp(prefix=f".{folder.name}-", dir=folder.parent))
    try:
        texts = {"titles": training.titles, "queries": training.queries, "questions": questions.queries}
        arrays = {
            "training": _arrays("bought", training.bought) | {"sessions": training.sessions},
            "questions": _arrays("bought", questions.bought)
            | _arrays("seen", questions.seen)
            | {"sessions": questions.sessions},
        }
        digest = hashlib.sha256()
        for name, lines in texts.items():
            joined = "".join(" ".join(line.split()) + "\n" for line in lines)
            (temporary / f"{name}.txt").write_text(joined, encoding="utf-8")
            digest.update(joined.encode())
        for name, each in arrays.items():
            np.savez(temporary / f"{name}.npz", **each)  # type: ignore[arg-type]  # its second argument is a flag
            for array in each.values():
                digest.update(np.ascontiguousarray(array).data)
        facts = {**about, "products": len(training.titles), "queries": len(training.queries)}
        facts |= {"questions": len(questions.queries), "fingerprint": digest.hexdigest()}
        (temporary / "about.json").write_text(json.dumps(facts, indent=1) + "\n", encoding="utf-8")
        os.rename(temporary, folder)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def some_words(texts: Sequence[str], draw: np.random.Generator) -> list[str]:
    """Some words of each text, at least one, in their order; any number of them is as likely as another."""
    parts = []
    for text in texts:
        words = text.split()
        kept = draw.permutation(len(words))[: draw.integers(1, max(2, len(words)))]
        parts.append(" ".join(words[i] for i in np.sort(kept)))
    return parts


def sparse_rows(rows: Sequence[Mapping[int, float]], n_columns: int) -> SparseRows:
    """One row a mapping of columns to values."""
    indptr = np.concatenate([[0], np.cumsum([len(row) for row in rows])]).astype(np.int64)
    pairs = np.array([pair for row in rows for pair in sorted(row.items())], np.float64).reshape(-1, 2)
    return SparseRows(indptr, pairs[:, 0].astype(np.int32), pairs[:, 1].astype(np.float32), n_columns)


def _arrays(name: str, rows: SparseRows) -> dict[str, AnyArray]:
    columns = np.array(rows.n_columns, np.int64)
    parts = (rows.indptr, rows.indices, rows.values, columns)
    return dict(zip((f"{name}.{part}" for part in _PARTS), parts, strict=True))


_PARTS = ("indptr", "indices", "values", "columns")


def _rows(arrays: Mapping[str, AnyArray], name: str) -> SparseRows:
    indptr, indices, values, columns = (arrays[f"{name}.{part}"] for part in _PARTS)
    return SparseRows(indptr, indices, values, int(columns))


def _lines(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").split("\n")[:-1]
