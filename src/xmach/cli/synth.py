"""`xmach synth shop`: a made-up product search, in files."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from xmach.cli.progress import Meter

if TYPE_CHECKING:
    from xmach.synthetic import Query

synth = typer.Typer(help="Make data sets.", no_args_is_help=True)
_TITLES = 100_000  # written at a time


@synth.callback()
def about() -> None:
    """Make data sets."""


@synth.command()
def shop(
    out: Annotated[Path, typer.Option("--out", metavar="DIR", help="Where the files go.", show_default=False)],
    queries: Annotated[int, typer.Option(min=1, help="Training queries.")] = 60_000,
    products: Annotated[int, typer.Option(min=1, help="Products.")] = 20_000,
    test_queries: Annotated[int, typer.Option(min=1, help="Queries of the later test period.")] = 5_000,
    seed: Annotated[int, typer.Option(help="Same seed, same shop.")] = 0,
) -> None:
    """Make a shop: queries, what was bought after them, and a later test period.

    Writes products.tsv (id, title); train.jsonl and test.jsonl (query, products, purchases, sessions, seen); and
    train.xmc.txt and test.xmc.txt, for `xmach train`: the texts as hashed features, the products as labels, without
    the counts of purchases and sessions, which that format has no place for.
    """
    from xmach.synthetic import Period, Shop, ShopStatistics
    from xmach.types import row_batches

    made = Shop(products, seed)
    out.mkdir(parents=True, exist_ok=True)
    with (out / "products.tsv").open("w", encoding="utf-8") as file:
        for start, stop in row_batches(products, _TITLES):
            file.writelines(f"{start + i}\t{title}\n" for i, title in enumerate(made.titles(start, stop)))
    periods: list[tuple[Period, int]] = [("train", queries), ("test", test_queries)]
    for period, count in periods:
        with Meter(f"making {period} queries", "queries") as meter:
            written = _written(made.queries(count, period), out / period, count, products, meter)
            statistics = ShopStatistics.of(written, products)
        typer.echo(f"{period}\n{statistics.table()}")


def _written(
    chunks: Iterable[list[Query]], base: Path, n_queries: int, n_products: int, meter: Meter
) -> Iterator[list[Query]]:
    """The chunks, each written as JSON lines and as XMC rows when it has passed."""
    from xmach.data.xmc_writer import xmc_lines
    from xmach.features import HashedText
    from xmach.synthetic import purchase_rows

    text, done = HashedText(), 0
    with (
        base.with_suffix(".jsonl").open("w", encoding="utf-8") as lines,
        base.with_suffix(".xmc.txt").open("w") as rows,
    ):
        rows.write(f"{n_queries} {text.n_features} {n_products}\n")
        for chunk in chunks:
            for query in chunk:
                lines.write(json.dumps(_record(query), ensure_ascii=False) + "\n")
            rows.writelines(
                xmc_lines(text.transform([query.text for query in chunk]), purchase_rows(chunk, n_products))
            )
            done += len(chunk)
            meter.update(done, n_queries)
            yield chunk


def _record(query: Query) -> dict[str, object]:
    """A query as one JSON line; only the test period has products that were seen and not bought."""
    record = query._asdict()
    record = {"query": record.pop("text"), **record}
    return record if query.seen else {name: value for name, value in record.items() if name != "seen"}
