"""Where the data of a product search come from: a made-up shop, or Home Depot's queries with human judgements."""

from __future__ import annotations

import csv
import gzip
import hashlib
import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from benchmarks.peers.search_data import Questions, Training, sparse_rows, write
from benchmarks.places import OUT, ROOT, data_folder
from xmach.synthetic import Query, Shop, purchase_rows
from xmach.types import SparseRows

RELEVANT = 2.33  # judgements from here on play the purchases


class Source(Protocol):
    """Settings that a product search is made from."""

    def make(self) -> tuple[Training, Questions]:
        """The product search."""


@dataclass(frozen=True)
class ShopSource:
    """A made-up shop, asked in a later period; or, where some are held out, in the training period itself."""

    n_products: int
    n_queries: int
    n_questions: int = 5_000
    held_out: bool = False  # the questions are training queries that are not learnt from: to choose settings on
    seed: int = 0

    def make(self) -> tuple[Training, Questions]:
        """The product search; a text that came up in several chunks is a row in each."""
        shop = Shop(self.n_products, self.seed)
        wanted = self.n_queries + (self.n_questions if self.held_out else 0)
        queries = [query for chunk in shop.queries(wanted) for query in chunk]
        if self.held_out:
            queries, asked = queries[: self.n_queries], queries[self.n_queries :]
        else:
            asked = [query for chunk in shop.queries(self.n_questions, "test") for query in chunk]
        seen = sparse_rows([dict.fromkeys(query.seen, 1.0) for query in asked], self.n_products)
        training = Training(shop.titles(), *_columns(queries, self.n_products))
        texts, bought, sessions = _columns(asked, self.n_products)
        return training, Questions(texts, bought, seen, sessions)


@dataclass(frozen=True)
class HomeDepotSource:
    """Real queries and the products that people judged relevant to them; a session each, as nothing is known."""

    held_out: int = 0  # so many of the training queries are the questions, instead of the test queries

    def make(self) -> tuple[Training, Questions]:
        """The product search."""
        folder = data_folder() / "home_depot"
        titles = [text for _, text in _tsv(folder / "title_rows.tsv.gz")]
        train = list(_tsv(folder / "train.tsv.gz"))
        asked = train[len(train) - self.held_out :] if self.held_out else list(_tsv(folder / "test.tsv.gz"))
        train = train[: len(train) - self.held_out]
        lesser = _lesser_products(folder / "judgements.csv.gz")
        parts = []
        for rows in (train, asked):
            bought = sparse_rows([dict.fromkeys(products, 1.0) for products, _ in rows], len(titles))
            parts.append(([text for _, text in rows], bought, np.ones(len(rows), np.float32)))
        seen = sparse_rows([dict.fromkeys(lesser.get(_plain(text), ()), 1.0) for _, text in asked], len(titles))
        return Training(titles, *parts[0]), Questions(parts[1][0], parts[1][1], seen, parts[1][2])


def provide(source: Source, place: Path = OUT / "peers" / "data") -> Path:
    """The folder of a source's data; made now, unless a run before has, by the same code."""
    about = {"source": type(source).__name__, **asdict(source)}  # type: ignore[call-overload]  # all are dataclasses
    code = [*sorted((ROOT / "src" / "xmach" / "synthetic").glob("*.py")), Path(__file__)]
    folder = place / f"{about['source']}-{digest_of(about, code)}"
    if not folder.exists():
        write(folder, *source.make(), about)
    return folder


def digest_of(settings: Any, code: list[Path]) -> str:
    """A short name for settings and the source files that they are given to."""
    digest = hashlib.sha256(json.dumps(settings, sort_keys=True).encode())
    for path in code:
        digest.update(path.read_bytes())
    return digest.hexdigest()[:12]


def _columns(queries: list[Query], n_products: int) -> tuple[list[str], SparseRows, Any]:
    sessions = np.array([query.sessions for query in queries], np.float32)
    return [query.text for query in queries], purchase_rows(queries, n_products), sessions


def _tsv(path: Path) -> Iterator[tuple[list[int], str]]:
    with gzip.open(path, "rt", encoding="utf-8") as file:
        for line in file:
            labels, text = line.rstrip("\n").split("\t")
            yield [int(label) for label in labels.split(",")], text


def _lesser_products(path: Path) -> dict[str, list[int]]:
    """The products of each query that were judged, and not as relevant; products are numbered as their uids rise."""
    with gzip.open(path, "rt", encoding="utf-8") as file:
        judged = [(row["search_term"], int(row["product_uid"]), row["relevance"]) for row in csv.DictReader(file)]
    numbers = {uid: number for number, uid in enumerate(sorted({uid for _, uid, _ in judged}))}
    lesser: dict[str, list[int]] = {}
    for query, uid, relevance in judged:
        if float(relevance) < RELEVANT:
            lesser.setdefault(_plain(query), []).append(numbers[uid])
    return lesser


def _plain(text: str) -> str:
    return " ".join(text.lower().split())
