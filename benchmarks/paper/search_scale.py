"""MACH with 50 million products on one small machine, and where its rivals stop fitting.

A sample of queries is trained on: what a repetition costs for a million queries is a slope, from two sample sizes, and
is carried on to the paper's 70.3 million queries, 10 epochs and R = 32. The memory of Parabel and DSSM is measured on
shops that grow until they no longer fit, and carried on along a straight line. Rows of features lie in mapped files for
everybody and do not count: what a model itself takes does.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.contest import Spread
from benchmarks.peers.harness import Contestant, contest
from benchmarks.peers.runs import Limits
from benchmarks.peers.sources import ShopSource
from benchmarks.places import OUT, ROOT, table, write_results
from benchmarks.plots import Line, lines
from xmach.planning import human_bytes

PRODUCTS = 50_000_000
SAMPLES = (100_000, 300_000)  # queries
PAPER = {"queries": 70_301_491, "products": 49_462_358, "epochs": 10, "repetitions": 32, "questions": 20_000}
GROWTH = (10_000, 100_000, 1_000_000, 10_000_000)
QUERIES_PER_PRODUCT, MOST_QUERIES = 1.4, 1_400_000  # the paper's share; beyond, a sample and all titles
QUESTIONS = 100  # more take no more memory; at ten million products DSSM's neighbours take half a second each
MACH = "MACH, one repetition"  # has no need to be carried on: it was measured with all products
RIVALS = {
    MACH: Contestant("mach", {"n_buckets": 10_000, "n_repetitions": 1, "epochs": 1, "hidden": (256,)}),
    "Parabel, 2 trees": Contestant("parabel", {"trees": 2, "leaf": 100}),
    "DSSM": Contestant("dssm", {"epochs": 1, "most_steps": 200}),  # more of them take no more memory
}
MOST_PRODUCTS = {MACH: 1_000_000}  # hours at ten million, for what is measured at fifty
LIMITS = Limits(memory=18 * 2**30, seconds=2 * 3600)


def main(most: int = GROWTH[-1]) -> None:
    """Run both parts, rivals on shops of up to `most` products; write a table each, and the curve."""
    costs = [sample(n) for n in SAMPLES]
    growth = grow(tuple(size for size in GROWTH if size <= most))
    growth[MACH].append(at_scale(costs[-1]))
    text = f"K = {PRODUCTS:,} products, one thread, a hidden layer of 256, B = 20,000\n\n" + cost_table(costs)
    text += f"\n{paper_cost(costs)}\n\nMemory above libraries, texts and rows; {QUERIES_PER_PRODUCT} queries a product"
    text += f" ({MOST_QUERIES:,} at the most) and all titles\n\n"
    text += growth_table(growth) + "\n![memory against products](search-scale.svg)\n"
    draw(OUT / "search-scale.svg", growth)
    write_results("search-scale", {"costs": costs, "growth": growth}, text)


# --- 50 million products


def sample(n_queries: int, n_products: int = PRODUCTS, **changed: Any) -> dict[str, Any]:
    """What one repetition on a sample of queries takes, and answering; in a process of its own."""
    with tempfile.TemporaryDirectory(prefix="xmach-scale-") as place:
        job = {"n_queries": n_queries, "n_products": n_products, "folder": place, **changed}
        path = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
        command = [sys.executable, "-m", "benchmarks.paper.search_sample", json.dumps(job)]
        done = subprocess.run(command, env=os.environ | {"PYTHONPATH": path}, stdout=subprocess.PIPE, check=True)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def at_scale(cost: dict[str, Any]) -> dict[str, Any]:
    """The memory of a sample's repetition, as a row among rivals."""
    return {"products": PRODUCTS} | {name: cost[name] for name in _MEMORY}


def cost_table(costs: list[dict[str, Any]]) -> str:
    """A line a sample."""
    header = ["queries", "products bought", "a repetition and epoch", "memory, training"]
    cells = []
    for cost in costs:
        counts = [f"{cost['queries']:,}", f"{cost['bought']:,}", f"{cost['seconds']:.1f} s"]
        answers = [f"{1e3 * cost[f'answer, {name}']:.1f} ms" for name in ("mean", "log")]
        memory = [human_bytes(cost[f"{name} memory"]) for name in ("training", "answering")]
        cells.append([*counts, memory[0], *answers, memory[1]])
    return table([*header, "a query, mean", "a query, log", "memory, answering"], cells)


def per_million(costs: list[dict[str, Any]]) -> float:
    """Seconds of a repetition and an epoch for a million queries more: the slope, without what is paid once."""
    first, last = costs[0], costs[-1]
    return 1e6 * float(last["seconds"] - first["seconds"]) / float(last["queries"] - first["queries"])


def paper_cost(costs: list[dict[str, Any]]) -> str:
    """The paper's run, carried on from here, in words."""
    each = per_million(costs)
    epoch = each * PAPER["queries"] / 1e6
    whole = epoch * PAPER["epochs"] * PAPER["repetitions"]
    return (
        f"A million queries take {each:,.0f} s a repetition and epoch. The paper's {PAPER['queries']:,} queries would "
        f"take {epoch / 3600:.1f} h an epoch of one repetition, and {whole / 86400:,.0f} days of one core for "
        f"{PAPER['epochs']} epochs and R = {PAPER['repetitions']}: {whole / 3600 / 64:,.0f} h on the 64 of the paper's "
        "machine, were they as fast side by side. (The paper: 34.2 h on 8 GPUs, with a hidden layer of 2,000.)"
    )


# --- rivals at growing numbers of products


def grow(sizes: tuple[int, ...] = GROWTH, limits: Limits = LIMITS) -> dict[str, list[dict[str, Any]]]:
    """The memory of each rival, until it runs into a limit: what came before it is larger everywhere after."""
    found: dict[str, list[dict[str, Any]]] = {name: [] for name in RIVALS}
    for size in sizes:
        running = {
            name: rival
            for name, rival in RIVALS.items()
            if size <= MOST_PRODUCTS.get(name, PRODUCTS) and not any("failed" in row for row in found[name])
        }
        if not running:
            break
        source = ShopSource(size, min(MOST_QUERIES, round(QUERIES_PER_PRODUCT * size)), QUESTIONS)
        for name, row in zip(running, contest(source, list(running.values()), limits), strict=True):
            found[name].append({"products": size} | _memory_of(row))
    return found


def _memory_of(row: dict[str, Any]) -> dict[str, Any]:
    if "failed" in row:
        return {name: row[name] for name in ("failed", "while") if name in row}
    told = {name: row[name] for name in ("answering memory", "bytes")}
    return told | {"training memory": row["private training memory"]}


def carried_on(rows: list[dict[str, Any]], what: str, products: int = PRODUCTS) -> float:
    """Extrapolate what was measured to a number of products, along the last slope.

    A straight line, not a power, because a part of it does not grow at all.
    """
    a, b = [row for row in rows if "failed" not in row][-2:]
    slope = (b[what] - a[what]) / (b["products"] - a["products"])
    return float(b[what] + slope * (products - b["products"]))


def growth_table(growth: dict[str, list[dict[str, Any]]]) -> str:
    """Training and evaluation memory of each rival at every size, the reason where it stopped, and at 50 million."""
    return table(["model", "products", "memory, training", "memory, evaluation"], list(_growth_lines(growth)))


def _growth_lines(growth: dict[str, list[dict[str, Any]]]) -> Iterator[list[str]]:
    for name, rows in growth.items():
        for row in rows:
            sizes = [human_bytes(row[key]) for key in _MEMORY] if "failed" not in row else [row["failed"], "-"]
            yield [name, f"{row['products']:,}", *sizes]
        if sum("failed" not in row for row in rows) >= 2 and rows[-1]["products"] < PRODUCTS:
            told = [f"{human_bytes(round(carried_on(rows, key)))}, carried on" for key in _MEMORY]
            yield [name, f"{PRODUCTS:,}", *told]


_MEMORY = ("training memory", "answering memory")


def draw(path: Path, growth: dict[str, list[dict[str, Any]]]) -> None:
    """Memory against products: measured, the last point of a line carried on where it stopped fitting."""
    series = {}
    for name, rows in growth.items():
        done = [row for row in rows if "failed" not in row]
        for key in _MEMORY:
            points = {row["products"]: max(1, row[key]) / 2**30 for row in done}
            if len(done) >= 2 and PRODUCTS not in points:
                points[PRODUCTS] = carried_on(rows, key) / 2**30
            values = [Spread(size, size, size) for size in points.values()]
            series[f"{name}, {key.split()[0]}"] = Line(list(points), values)
    title = f"Memory above libraries, texts and rows; rivals' points at {PRODUCTS:,} products are carried on"
    lines(path, title, series, ("products", "GiB"))
