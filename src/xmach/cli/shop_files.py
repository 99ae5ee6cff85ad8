"""The files of a synthetic shop: parts of them are made anywhere, and written in order."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Literal, TypeAlias

from xmach.data import Dataset
from xmach.data.read.tables.parquet_rows import Sizes
from xmach.data.write.parquet import open_rows
from xmach.data.write.tables import Column, Lists, Texts, parquet_table, table_header, table_lines
from xmach.data.write.xmc import xmc_header, xmc_text
from xmach.features import HashedText
from xmach.files import atomic_file
from xmach.synthetic import Period, QueryBlock, Shop
from xmach.types import SparseRows, row_batches

Kind: TypeAlias = Period | Literal["titles"]
Write: TypeAlias = "Callable[[Part], object]"

SUFFIXES = {
    "jsonl": ".jsonl",
    "csv": ".csv",
    "tsv": ".tsv",
    "parquet": ".parquet",
    "xmc": ".xmc.txt",
    "sparse": ".sparse.parquet",
}
TITLES = "products.tsv"
_LINES = ("jsonl", "csv", "tsv")
_HASHED = ("xmc", "sparse")  # texts as features
_TITLE_ROWS = 1 << 16  # of a part


@dataclass(frozen=True)
class ShopRecipe:
    """All that the bytes of the files depend on."""

    products: int
    queries: int
    test_queries: int
    seed: int
    formats: tuple[str, ...]
    titles: bool

    def size(self, kind: Kind) -> int:
        """The rows of a file."""
        return {"train": self.queries, "test": self.test_queries, "titles": self.products}[kind]

    def names(self) -> list[str]:
        """The files."""
        queries = [f"{period}{SUFFIXES[each]}" for period in ("train", "test") for each in self.formats]
        return [*queries, *([TITLES] if self.titles else [])]

    def parts(self) -> Iterator[PartSpec]:
        """What the files are made of, in order."""
        shop = _shop(self.products, self.seed)
        periods: tuple[Period, Period] = ("train", "test")
        for period in periods:
            for number, size in shop.chunks(self.size(period), period):
                yield PartSpec(self, period, number, size)
        if self.titles:
            for number, (start, stop) in enumerate(row_batches(self.products, _TITLE_ROWS)):
                yield PartSpec(self, "titles", number, stop - start)


@dataclass(frozen=True)
class PartSpec:
    """One part of the files of a kind."""

    recipe: ShopRecipe
    kind: Kind
    number: int
    size: int


@dataclass(frozen=True)
class Part:
    """One part, made."""

    kind: Kind
    size: int
    lines: dict[str, bytes]  # by format, or of the titles
    block: QueryBlock | None = None
    features: SparseRows | None = None


def make_part(spec: PartSpec) -> Part:
    """One part: the same whichever process makes it, and after whichever others."""
    shop, formats = _shop(spec.recipe.products, spec.recipe.seed), spec.recipe.formats
    if spec.kind == "titles":
        start = spec.number * _TITLE_ROWS
        titles = shop.titles(start, start + spec.size)
        lines = "".join([f"{start + i}\t{title}\n" for i, title in enumerate(titles)])
        return Part(spec.kind, spec.size, {TITLES: lines.encode()})
    block = shop.block(spec.number, spec.size, spec.kind)
    columns = query_columns(block, spec.kind)
    made = {each: table_lines(columns, each) for each in formats if each in _LINES}
    features = HashedText().transform(block.texts()) if any(each in _HASHED for each in formats) else None
    if "xmc" in formats and features is not None:
        made["xmc"] = xmc_text(features, block.labels(shop.n_products))
    return Part(spec.kind, spec.size, made, block, features if "sparse" in formats else None)


def query_columns(block: QueryBlock, period: Kind) -> dict[str, Column]:
    """The columns of a table of queries; only the test period has products that were seen and not bought."""
    columns: dict[str, Column] = {
        "query": Texts(block.text_data, block.text_first),
        "products": Lists(block.bought_first, block.products),
        "purchases": Lists(block.bought_first, block.purchases),
        "sessions": block.sessions,
    }
    return columns | ({"seen": Lists(block.seen_first, block.seen)} if period == "test" else {})


def open_shop_files(stack: ExitStack, folder: Path, recipe: ShopRecipe) -> dict[Kind, list[Write]]:
    """What writes parts into the files of each kind; they all get their names when the stack is closed."""
    periods: tuple[Period, Period] = ("train", "test")
    writers: dict[Kind, list[Write]] = {
        period: [_open(stack, folder, recipe, period, each) for each in recipe.formats] for period in periods
    }
    if recipe.titles:
        writers["titles"] = [_open_lines(stack, folder / TITLES, b"", TITLES)]
    return writers


def _open(stack: ExitStack, folder: Path, recipe: ShopRecipe, period: Period, format: str) -> Write:
    path = folder / f"{period}{SUFFIXES[format]}"
    if format in _LINES:
        names = list(query_columns(QueryBlock.empty(), period))
        return _open_lines(stack, path, table_header(names, format), format)
    if format == "xmc":
        header = xmc_header(recipe.size(period), HashedText().n_features, recipe.products)
        return _open_lines(stack, path, header, format)
    new = stack.enter_context(atomic_file(path))
    if format == "parquet":
        write_table = stack.enter_context(parquet_table(new, query_columns(QueryBlock.empty(), period)))
        return lambda part: write_table(query_columns(_block(part), period))
    sizes = Sizes(HashedText().n_features, recipe.products, dense=False, label_values=True, weights=True)
    write_rows = stack.enter_context(open_rows(new, sizes))
    return lambda part: write_rows(_dataset(part, recipe.products))


def _open_lines(stack: ExitStack, path: Path, header: bytes, name: str) -> Write:
    file = stack.enter_context(stack.enter_context(atomic_file(path)).open("wb"))
    file.write(header)
    return lambda part: file.write(part.lines[name])


def _dataset(part: Part, n_products: int) -> Dataset:
    """The rows of a part, products with their purchases, rows weighted by sessions."""
    block = _block(part)
    assert part.features is not None
    return Dataset(part.features, block.labels(n_products), weights=block.sessions.astype("float32"))


def _block(part: Part) -> QueryBlock:
    assert part.block is not None
    return part.block


@lru_cache(maxsize=1)
def _shop(products: int, seed: int) -> Shop:
    return Shop(products, seed)
