"""BM25, by bm25s: what a search engine does before it learns anything."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import bm25s
import numpy as np

from benchmarks.peers.adapter import Settings
from benchmarks.peers.search_data import Training
from xmach.features.words import folded
from xmach.types import FloatArray, IntArray, SparseRows


class Bm25:
    """Settings: `k1`, `b`; `documents`, which are the titles, or `titles and queries` after which a product was bought.

    Words are runs of letters and digits, one character long or more: sizes matter in a shop. No stop words.
    """

    def __init__(self, settings: Settings, folder: Path) -> None:
        self._settings, self._folder = settings, folder

    def warm_up(self) -> None:
        """Nothing to do: its NumPy part is asked."""

    def prepare(self, data: Training) -> None:
        """Cut the documents into words."""
        documents = list(data.titles)
        if self._settings.get("documents") == "titles and queries":
            added: dict[int, list[str]] = {}
            for i, query in enumerate(data.queries):
                for product in data.bought.row(i)[0].tolist():
                    added.setdefault(product, []).append(query)
            for product, queries in added.items():
                documents[product] = " ".join([documents[product], *queries])
        self._words = _words(documents)

    def train(self) -> None:
        """Count and weigh."""
        self._index = bm25s.BM25(k1=self._settings.get("k1", 1.5), b=self._settings.get("b", 0.75))
        self._index.index(self._words, show_progress=False)

    def save(self) -> dict[str, Any]:
        """The postings: there are no parameters that were learnt."""
        self._index.save(str(self._folder / "index"), show_progress=False)
        return {"parameters": None}

    def open(self, answering: Settings) -> None:
        """Read the postings."""
        self._index = bm25s.BM25.load(str(self._folder / "index"), show_progress=False)

    def top(self, texts: Sequence[str], k: int) -> IntArray:
        """Products with a word of the query; -1 where these are fewer than k."""
        best = np.full((len(texts), k), -1, np.int64)
        for i, scores in enumerate(self._every(texts)):
            first = np.argpartition(-scores, min(k, len(scores)) - 1)[:k]
            first = first[scores[first] > 0]
            best[i, : len(first)] = first[np.argsort(-scores[first], kind="stable")]
        return best

    def scores(self, texts: Sequence[str], candidates: SparseRows) -> FloatArray:
        """Those of the candidates among all."""
        parts = [scores[candidates.row(i)[0]] for i, scores in enumerate(self._every(texts))]
        return np.concatenate(parts).astype(np.float32)

    def _every(self, texts: Sequence[str]) -> Iterable[FloatArray]:
        """The scores of all products, query by query; bm25s fails on a query without any known word."""
        nothing = np.zeros(int(self._index.scores["num_docs"]), np.float32)
        for words in _words(texts):
            known = [word for word in words if word in self._index.vocab_dict]
            yield self._index.get_scores(known) if known else nothing


def _words(texts: Sequence[str]) -> list[list[str]]:
    pattern = r"(?u)\w+"
    folded_texts = [folded(text) for text in texts]
    words: list[list[str]] = bm25s.tokenize(
        folded_texts, token_pattern=pattern, stopwords=None, return_ids=False, show_progress=False
    )
    return words
