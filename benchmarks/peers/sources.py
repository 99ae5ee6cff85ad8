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
from xmach.synthetic import Period, QueryBlock, Shop
from xmach.types import SparseRows, row_batches

_TITLES = 1 << 18  # products whose titles are made at a time
RELEVANT = 2.33  # judgements from here on play the purchases


class Source(Protocol):
    """Settings that a product search is made from."""

    def make(self) -> tuple[Training, Questions]:
        """The product search."""


@dataclass(frozen=True)
class ShopSource:
    """A synthetic shop, asked in a later period; if queries are held out, in the training period itself."""

    n_products: int
    n_queries: int
    n_questions: int = 5_000
    held_out: bool = False  # the questions are training queries that are not learnt from: to choose settings on
    seed: int = 0

    def make(self) -> tuple[Training, Questions]:
        """The product search; a text that came up in several chunks is a row in each."""
        shop = Shop(self.n_products, self.seed)
        titles = [title for start, stop in row_batches(shop.n_products, _TITLES) for title in shop.titles(start, stop)]
        if self.held_out:
            made = _queries(shop, self.n_queries + self.n_questions, "train")
            learnt, asked = _part(made, 0, self.n_queries), _part(made, self.n_queries, len(made.queries))
        else:
            learnt, asked = _queries(shop, self.n_queries, "train"), _queries(shop, self.n_questions, "test")
        return Training(titles, learnt.queries, learnt.bought, learnt.sessions), asked


@dataclass(frozen=True)
class HomeDepotSource:
    """Real queries and the products that people judged relevant to them; a session each, as nothing is known."""

    held_out: int = 0  # the number of training queries that are the questions, instead of the test queries

    def make(self) -> tuple[Training, Questions]:
        """The product search."""
        folder = data_folder() / "home_depot"
        titles = [text for _, text in read_tsv(folder / "title_rows.tsv.gz")]
        train = list(read_tsv(folder / "train.tsv.gz"))
        asked = train[len(train) - self.held_out :] if self.held_out else list(read_tsv(folder / "test.tsv.gz"))
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


def _queries(shop: Shop, n_queries: int, period: Period) -> Questions:
    """The queries of a period: by blocks of arrays, as millions of queries one by one take gigabytes."""
    texts: list[str] = []
    bought, seen, sessions = [], [], []
    for block in shop.blocks(n_queries, period):
        texts += block.texts()
        bought.append(block.labels(shop.n_products))
        seen.append(_seen(block, shop.n_products))
        sessions.append(block.sessions.astype(np.float32))
    return Questions(texts, _joined(bought), _joined(seen), np.concatenate(sessions))


def _part(made: Questions, start: int, stop: int) -> Questions:
    bought, seen = made.bought.slice(start, stop), made.seen.slice(start, stop)
    return Questions(made.queries[start:stop], bought, seen, made.sessions[start:stop])


def _seen(block: QueryBlock, n_products: int) -> SparseRows:
    row = np.repeat(np.arange(block.n_queries), np.diff(block.seen_first))
    products = block.seen[np.lexsort((block.seen, row))].astype(np.int32)
    return SparseRows(block.seen_first, products, np.ones(len(products), np.float32), n_products)


def _joined(parts: list[SparseRows]) -> SparseRows:
    """Rows of several blocks as one."""
    lengths = np.concatenate([np.diff(part.indptr) for part in parts])
    columns, values = (np.concatenate([getattr(part, name) for part in parts]) for name in ("indices", "values"))
    return SparseRows(np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)]), columns, values, parts[0].n_columns)


def read_tsv(path: Path) -> Iterator[tuple[list[int], str]]:
    """Yield the label numbers and the text of each line."""
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
