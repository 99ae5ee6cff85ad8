"""`xmach demo`: a small shop from nothing to answers."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from xmach.data import Dataset
    from xmach.features import HashedText
    from xmach.predictor import Predictor
    from xmach.synthetic import Query, Shop
    from xmach.training import Fitted

QUERIES, TEST_QUERIES = 60_000, 5_000
HELD_OUT = 3_000  # of the queries: settings are chosen on them; without them a trial model would take as long again
FEATURES = 30_000
SHOWN = 4  # queries answered at the end
EXAMPLES = 8  # queries to try on the search page


def demo(
    products: Annotated[int, typer.Option(min=1000, help="Products in the shop.")] = 20_000,
    model: Annotated[
        Path | None, typer.Option("--model", metavar="DIR", help="Keep the model here.", show_default="thrown away")
    ] = None,
    workers: Annotated[int, typer.Option(min=0, help="Repetitions trained at a time; 0: one per core.")] = 0,
    seed: Annotated[int, typer.Option(min=0, help="Same seed, same shop and model.")] = 0,
) -> None:
    """Make a shop, train on its query texts, evaluate on a later period, answer a few queries."""
    from xmach.files import scratch_folder

    with scratch_folder("demo") as scratch:
        _run(products, scratch / "model" if model is None else model, workers, seed)


def _run(n_products: int, folder: Path, workers: int, seed: int) -> None:
    from xmach.cli.progress import say, training_output
    from xmach.config import MachConfig
    from xmach.features import HashedText
    from xmach.synthetic import Shop
    from xmach.training import fit

    begun = time.monotonic()
    say(f"making a shop of {n_products:,} products, {QUERIES:,} queries with their purchases, and a later test period")
    shop, text = Shop(n_products, seed), HashedText(FEATURES)
    queries = [query for chunk in shop.queries(QUERIES, "train") for query in chunk]
    data = _training_rows(queries[HELD_OUT:], text, shop)
    # with their sessions as weights, a few frequent queries would decide
    held_out = replace(_test_rows(queries[:HELD_OUT], text, shop), weights=None)
    test_queries = [query for chunk in shop.queries(TEST_QUERIES, "test") for query in chunk]
    say(f"training with the default settings on the texts of {data.n_rows:,} queries and titles")
    trained = time.monotonic()
    with training_output() as on_progress:
        fitted = fit(
            data,
            MachConfig(seed=seed),
            folder,
            text=text,
            workers=workers or None,
            validation=held_out,
            on_progress=on_progress,
        )
    seconds = time.monotonic() - trained
    predictor = fitted.predictor
    assert predictor is not None
    _show_metrics(predictor, _test_rows(test_queries, text, shop), seconds, folder)
    _keep_examples(folder, test_queries)
    _show_cost(fitted)
    _show_answers(predictor, test_queries)
    typer.echo(f"\n{time.monotonic() - begun:.0f} s in all")


def _training_rows(queries: list[Query], text: HashedText, shop: Shop) -> Dataset:
    """A row for each query, its labels what was bought, by how often; and one for each product, its own title."""
    from xmach.data import Dataset
    from xmach.synthetic import Query, purchase_rows

    titles = shop.titles()
    own = [Query(title, (product,), (1,), 1, ()) for product, title in enumerate(titles)]
    rows = text.transform([query.text for query in queries] + titles)
    return Dataset(rows, purchase_rows([*queries, *own], shop.n_products), titles)


def _test_rows(queries: list[Query], text: HashedText, shop: Shop) -> Dataset:
    """A row for each query, weighted by the sessions it came up in; for the settings and the evaluation."""
    import numpy as np

    from xmach.data import Dataset
    from xmach.synthetic import purchase_rows

    weights = np.array([query.sessions for query in queries], np.float32)
    rows = text.transform([query.text for query in queries])
    return Dataset(rows, purchase_rows(queries, shop.n_products), weights=weights)


def _show_metrics(predictor: Predictor, test: Dataset, seconds: float, folder: Path) -> None:
    from xmach.cli.evaluate import facts_of
    from xmach.evaluation import evaluate
    from xmach.store import ModelStore

    found = evaluate(predictor, test, (1, 10, 100))[0]
    n_repetitions = predictor.hashes.n_repetitions
    facts = facts_of("later period", predictor.ranked_by, n_repetitions, found, weighted=True)
    ModelStore(folder).add_evaluation(facts)
    result = found.metrics
    typer.echo(f"\n{test.n_rows:,} queries of the later period, weighted by sessions (trained in {seconds:.0f} s):")
    typer.echo(f"  recall@100 {100 * result['recall@100']:6.2f} %")
    typer.echo(f"  recall@10  {100 * result['recall@10']:6.2f} %")
    typer.echo(f"  P@1        {100 * result['precision@1']:6.2f} %")


def _keep_examples(folder: Path, queries: list[Query]) -> None:
    """Leave some queries beside the model: the search page offers them."""
    from xmach.files import atomic_file
    from xmach.serving.settings import EXAMPLES_FILE

    texts = list(dict.fromkeys(query.text for query in queries if len(query.text.split()) in (2, 3)))[:EXAMPLES]
    with atomic_file(folder / EXAMPLES_FILE) as new:
        new.write_text("".join(f"{text}\n" for text in texts), encoding="utf-8")


def _show_cost(fitted: Fitted) -> None:
    """The weights beside those of a classifier for every product."""
    hashes, n_features = fitted.plan.hashes, fitted.plan.n_features
    kept = int(sum(history[-1]["weights"] for history in fitted.history.values()))
    each, n_repetitions = kept / hashes.n_repetitions, hashes.n_repetitions
    typer.echo(
        f"\n{n_repetitions} x {hashes.n_buckets:,} linear classifiers: {kept:,} weights, {each:,.0f} a repetition"
    )
    typer.echo(f"one dense classifier a product: {hashes.n_labels * n_features:,} weights")


def _show_answers(predictor: Predictor, queries: list[Query]) -> None:
    import numpy as np

    chosen = np.random.default_rng(1).choice(len(queries), SHOWN, replace=False)
    texts = [queries[i].text for i in chosen]
    best = predictor.top_k(texts, 3)
    for i, text, names, ids in zip(chosen, texts, best.labels, best.ids, strict=True):
        typer.echo(f'\n"{text}"')
        for name, product in zip(names, ids, strict=True):
            typer.echo(f"  {'*' if product in queries[i].products else ' '} {name}")
    typer.echo("\n(* was bought after that query in the later period)")
