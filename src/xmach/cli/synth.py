"""`xmach synth shop`: a synthetic product search, in files."""

from __future__ import annotations

import json
from contextlib import ExitStack, closing
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from xmach.cli.arguments import JsonOption
from xmach.cli.progress import Meter
from xmach.errors import ParameterError

if TYPE_CHECKING:
    from xmach.cli.shop_files import ShopRecipe
    from xmach.executors import LocalExecutor, PoolExecutor
    from xmach.synthetic import Period, ShopStatistics

synth = typer.Typer(help="Make data sets.", no_args_is_help=True)
_SUMMARY = "shop.json"


@synth.callback()
def about() -> None:
    """Make data sets."""


@synth.command()
def shop(
    out: Annotated[Path | None, typer.Option("--out", metavar="DIR", help="Where the files go.")] = None,
    queries: Annotated[int, typer.Option(min=1, help="Training queries.")] = 60_000,
    products: Annotated[int, typer.Option(min=1, help="Products.")] = 20_000,
    test_queries: Annotated[int, typer.Option(min=1, help="Queries of the later test period.")] = 5_000,
    seed: Annotated[int, typer.Option(help="Same seed, same shop.")] = 0,
    format: Annotated[
        str, typer.Option("--format", help="Some of jsonl, csv, tsv, parquet, xmc, sparse, divided by commas.")
    ] = "jsonl,xmc",
    titles: Annotated[bool, typer.Option(help="Write products.tsv, too.")] = True,
    statistics: Annotated[bool, typer.Option("--statistics", help="Only say what the shop is like.")] = False,
    workers: Annotated[int, typer.Option(min=0, help="Processes; 0: one a core.")] = 1,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace files of a shop that is there.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Make a shop: queries, what was bought after them, and a later test period.

    Writes products.tsv (id, title), and train and test in each format. jsonl, csv, tsv and parquet have query,
    products, purchases (how often each was bought), sessions, and for the test period seen (clicked, not bought). xmc
    has the texts as hashed features and the products as labels, but no place for purchases and sessions; sparse
    (Parquet) has them, too. shop.json says what all is like. Nothing is there before all is whole.
    """
    from xmach.cli.shop_files import ShopRecipe

    if statistics == (out is not None):
        raise ParameterError("give either --out, a folder for the files, or --statistics, which writes none")
    formats = () if statistics else _formats(format)
    recipe = ShopRecipe(products, queries, test_queries, seed, formats, titles and not statistics)
    if out is not None:
        _claim(out, recipe, overwrite)
    result = _make(recipe, out, workers)
    if as_json:
        typer.echo(json.dumps({period: each.to_dict() for period, each in result.items()}))
    else:
        typer.echo("\n".join(f"{period}\n{each.table(period)}" for period, each in result.items()))


def _formats(text: str) -> tuple[str, ...]:
    """`jsonl,xmc` as formats, each once."""
    from xmach.cli.shop_files import SUFFIXES

    names = list(dict.fromkeys(name.strip() for name in text.split(",")))
    for name in names:
        if name not in SUFFIXES:
            raise ParameterError(f"--format: {name!r} is none of {', '.join(SUFFIXES)}")
    return tuple(names)


def _claim(folder: Path, recipe: ShopRecipe, overwrite: bool) -> None:
    """Make the folder; refuse one with files that this would replace."""
    if folder.exists() and not folder.is_dir():
        raise ParameterError(f"--out: {folder} is a file; name a folder")
    there = [folder / name for name in (*recipe.names(), _SUMMARY) if (folder / name).exists()]
    if there and not overwrite:
        raise ParameterError(f"--out: {there[0]} is there already; name another folder, or say --overwrite")
    folder.mkdir(parents=True, exist_ok=True)


def _make(recipe: ShopRecipe, folder: Path | None, workers: int) -> dict[Period, ShopStatistics]:
    """Make all parts, write them where there is a folder, and count them."""
    from xmach.cli.shop_files import make_part, open_shop_files
    from xmach.files import atomic_file
    from xmach.synthetic import ShopTally

    train = ShopTally(recipe.products)
    tallies: dict[str, ShopTally] = {"train": train, "test": ShopTally(recipe.products, before=train)}
    with ExitStack() as stack:  # left, it gives the files their names, the summary's the last; the workers end first
        summary = None if folder is None else stack.enter_context(atomic_file(folder / _SUMMARY))
        writers = {} if folder is None else open_shop_files(stack, folder, recipe)
        made = stack.enter_context(closing(_executor(recipe, workers).in_order(make_part, recipe.parts())))
        for kind, parts in groupby(made, key=lambda part: part.kind):
            done, total = 0, recipe.size(kind)
            with Meter("writing titles" if kind == "titles" else f"making {kind} queries", "rows") as meter:
                meter.update(done, total)
                for part in parts:
                    for write in writers.get(kind, ()):
                        write(part)
                    if part.block is not None:
                        tallies[kind].add(part.block)
                    done += part.size
                    meter.update(done, total)
        result: dict[Period, ShopStatistics] = {"train": train.statistics(), "test": tallies["test"].statistics()}
        if summary is not None:
            summary.write_text(json.dumps(_summary(recipe, result), indent=1) + "\n", encoding="utf-8")
    return result


def _executor(recipe: ShopRecipe, workers: int) -> LocalExecutor | PoolExecutor:
    """Processes, where there is work enough for several."""
    from xmach.executors import LocalExecutor, PoolExecutor
    from xmach.planning.machine import usable_cores

    workers = min(workers or usable_cores(), sum(1 for _ in recipe.parts()))
    return PoolExecutor(workers) if workers > 1 else LocalExecutor()


def _summary(recipe: ShopRecipe, result: dict[Period, ShopStatistics]) -> dict[str, object]:
    """What the files are and what is in them."""
    sizes = {"products": recipe.products, "queries": recipe.queries, "test_queries": recipe.test_queries}
    figures = {period: each.to_dict() for period, each in result.items()}
    return {**sizes, "seed": recipe.seed, "files": recipe.names(), "statistics": figures}
