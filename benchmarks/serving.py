"""`xmach serve` under load: 200,000 labels, callers in a second process on the same machine.

Throughput with and without batching; 70 % of it for a minute; five times as much for half a minute, and what comes
after; a cold start; the private memory of a second worker.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarks.places import OUT, ROOT, table, write_results
from xmach.planning import human_bytes

PRODUCTS, QUERIES, ASKED = 200_000, 60_000, 5_000
CALLERS = (1, 8, 32, 64)
CLOSED, STEADY, OVERLOAD = 5.0, 60.0, 30.0  # seconds
SHARE, TIMES = 0.7, 5
ROUNDS = 3
ENVIRONMENT = os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])}


def main() -> None:
    """Measure, and write the tables."""
    folder, texts = model()
    loops = [loop for _ in range(ROUNDS) for loop in closed_loops(folder, texts)]
    # the least of the rounds: a shared machine's speed changes, and 70 % of its best can be all of its worst
    capacity = min(loop["rate"] for loop in loops if loop["batching"] and loop["callers"] == CALLERS[-1])
    steady, overload = open_loops(folder, texts, capacity)
    results = {"closed": loops, "steady": steady, "overload": overload, "start": cold_start(folder, texts)}
    write_results("serving", results, report(results))


def model() -> tuple[Path, Path]:
    """A model of a made-up shop, trained once, and a file of queries."""
    from xmach.config import MachConfig
    from xmach.data import Dataset
    from xmach.features import HashedText
    from xmach.synthetic import Shop, purchase_rows
    from xmach.training import fit

    folder, texts = OUT / "models" / "serving-200k", OUT / "models" / "serving-200k.txt"
    shop, text = Shop(PRODUCTS), HashedText()
    if not (folder / "manifest.json").exists():
        queries = [query for chunk in shop.queries(QUERIES) for query in chunk]
        data = Dataset(text.transform([q.text for q in queries]), purchase_rows(queries, PRODUCTS), shop.titles())
        config = MachConfig(n_buckets=2000, n_repetitions=8, hidden=(256,), epochs=2, learning_rate=5e-3)
        fit(data, config, folder, text=text, executor="local")
    asked = [" ".join(query.text.split()) for query in next(shop.queries(ASKED, "test"))]
    texts.write_text("\n".join(asked), encoding="utf-8")
    return folder, texts


@contextmanager
def server(folder: Path, *options: str) -> Iterator[tuple[subprocess.Popen[str], int]]:
    """A server that answers, and its port."""
    with tempfile.TemporaryFile("w+") as said:
        command = [sys.executable, "-m", "xmach", "serve", str(folder), "--port", "0", "--no-verify", *options]
        process = subprocess.Popen(command, stderr=said, text=True, env=ENVIRONMENT)
        try:
            while True:
                said.seek(0)
                if found := re.search(r" at http://127\.0\.0\.1:(\d+)", said.read()):
                    break
                if process.poll() is not None:
                    said.seek(0)
                    raise RuntimeError(f"the server did not start: {said.read()}")
                time.sleep(0.01)
            yield process, int(found.group(1))
        finally:
            process.terminate()
            process.wait()


def load(port: int, texts: Path, kind: str, seconds: float, **job: Any) -> dict[str, Any]:
    """What a second process sees."""
    given = json.dumps({"port": port, "texts": str(texts), "kind": kind, "seconds": seconds, **job})
    command = [sys.executable, "-m", "benchmarks.load", given]
    found: dict[str, Any] = json.loads(subprocess.run(command, env=ENVIRONMENT, check=True, capture_output=True).stdout)
    return found


def closed_loops(folder: Path, texts: Path) -> Iterator[dict[str, Any]]:
    """Callers that wait for their answers, with and without batching."""
    for batching in (True, False):
        with server(folder, *([] if batching else ["--batch-size", "1"])) as (_, port):
            load(port, texts, "closed", 1.0, callers=4)
            for callers in CALLERS:
                seen = load(port, texts, "closed", CLOSED, callers=callers)
                yield {
                    "batching": batching,
                    "callers": callers,
                    "rate": seen["200"]["requests"] / seen["seconds"],
                } | seen


def open_loops(folder: Path, texts: Path, capacity: float) -> tuple[dict[str, Any], dict[str, Any]]:
    """A steady load below capacity; then far beyond it, and how long it takes to be as before."""
    with server(folder) as (process, port):
        load(port, texts, "closed", 2.0, callers=8)
        steady = load(port, texts, "open", STEADY, rate=SHARE * capacity) | {"rate": SHARE * capacity}
        before = _private(process.pid)
        overload = load(port, texts, "open", OVERLOAD, rate=TIMES * capacity) | {"rate": TIMES * capacity}
        begun = time.monotonic()
        while _seconds_of_one(port, texts) > max(0.05, 5 * steady["200"]["p50"] / 1e3):
            time.sleep(0.02)
        after = {"recovered after": time.monotonic() - begun, "memory before": before, "memory": _private(process.pid)}
    return steady, overload | after


def _seconds_of_one(port: int, texts: Path) -> float:
    body = json.dumps({"texts": [texts.read_text(encoding="utf-8").splitlines()[0]]}).encode()
    request = urllib.request.Request(f"http://127.0.0.1:{port}/v1/predict", body, {"content-type": "application/json"})
    begun = time.monotonic()
    with urllib.request.urlopen(request) as response:
        response.read()
    return time.monotonic() - begun


def cold_start(folder: Path, texts: Path) -> dict[str, Any]:
    """From the command to the first answer; and the private memory of each of two workers."""
    seconds = []
    for _ in range(ROUNDS):
        begun = time.monotonic()
        with server(folder) as (process, port):
            _seconds_of_one(port, texts)
            seconds.append(time.monotonic() - begun)
            alone = _private(process.pid)
    with server(folder, "--workers", "2") as (process, port):
        load(port, texts, "closed", 5.0, callers=16)
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
        workers = [_private(int(child)) for child in children]
        shared = load(port, texts, "closed", CLOSED, callers=32)
    size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    rate = shared["200"]["requests"] / shared["seconds"]
    return {"seconds": seconds, "private": alone, "two workers": workers, "rate of two": rate, "model": size}


def _private(process: int) -> int:
    lines = Path(f"/proc/{process}/smaps_rollup").read_text().splitlines()
    return sum(1024 * int(line.split()[1]) for line in lines if line.startswith(("Private_Clean", "Private_Dirty")))


def report(results: dict[str, Any]) -> str:
    """The tables."""
    text = f"{PRODUCTS:,} labels, B = 2000, R = 8, a hidden layer of 256, k = 10; callers in a second process\n\n"
    cells = []
    for batching in (True, False):
        for callers in CALLERS:
            seen = [x for x in results["closed"] if x["batching"] == batching and x["callers"] == callers]
            cells.append(["yes" if batching else "no", str(callers), _span(seen, "rate"), *_times(seen)])
    text += table(["batching", "callers", "answers a second", "p50, ms", "p99, ms"], cells)
    steady, over, start = results["steady"], results["overload"], results["start"]
    text += f"\nOpen loop, {steady['rate']:,.0f} a second ({SHARE:.0%}) for {STEADY:.0f} s: {_counts(steady)}\n"
    text += f"\n{TIMES} times as much, {over['rate']:,.0f} a second, for {OVERLOAD:.0f} s: {_counts(over)}. "
    text += f"Private memory {human_bytes(over['memory before'])} before, {human_bytes(over['memory'])} after; "
    text += f"answers as before {over['recovered after']:.2f} s after the end. Probes: {_counts(over['probes'])}\n"
    first, *_, last = sorted(start["seconds"])
    text += f"\nFrom the command to the first answer {first:.1f} to {last:.1f} s; the model has "
    text += f"{human_bytes(start['model'])}, a worker {human_bytes(start['private'])} of its own, two workers "
    return text + f"{' and '.join(map(human_bytes, start['two workers']))}, {start['rate of two']:,.0f} a second\n"


def _span(seen: list[dict[str, Any]], key: str) -> str:
    low, *_, high = sorted(each[key] for each in seen)
    return f"{low:,.0f} to {high:,.0f}"


def _times(seen: list[dict[str, Any]]) -> list[str]:
    middle = sorted(seen, key=lambda each: float(each["rate"]))[len(seen) // 2]
    return [f"{middle['200'][key]:.1f}" for key in ("p50", "p99")]


def _counts(seen: dict[str, Any]) -> str:
    """Statuses with their times, and errors."""
    parts = [
        f"{each['requests']:,} x {status} (p50 {each['p50']:.1f}, p99 {each['p99']:.1f}, worst {each['worst']:.0f} ms)"
        for status, each in seen.items()
        if status.isdigit()
    ]
    return ", ".join([*parts, f"{sum(seen['errors'].values())} errors"])
