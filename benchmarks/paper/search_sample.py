"""One repetition of MACH on a sample of a huge shop's queries: `python -m benchmarks.paper.search_sample JSON`.

Prints what it took as JSON. Titles are no rows here: 50 million of them would not be a sample.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.processes import forget_high_water, high_water, resident
from xmach.config import MachConfig
from xmach.data import Dataset
from xmach.features import HashedText
from xmach.predictor import Predictor
from xmach.store import load
from xmach.synthetic import Shop, purchase_rows
from xmach.training import fit


def main(job_text: str) -> None:
    """Train, open, answer."""
    job = json.loads(job_text)
    shop, n_queries = Shop(job["n_products"]), job["n_queries"]
    queries = [query for chunk in shop.queries(n_queries) for query in chunk]
    text = HashedText()
    data = Dataset(text.transform([query.text for query in queries]), purchase_rows(queries, shop.n_products))
    bought = len(np.unique(data.labels.indices))
    del queries
    found = {"products": job["n_products"], "queries": data.n_rows, "bought": bought}
    config = MachConfig(
        n_buckets=job.get("n_buckets", 20_000),
        n_repetitions=1,
        hidden=job.get("hidden", (256,)),
        epochs=1,
        learning_rate=5e-3,
    )
    found |= _train(data, text, config, Path(job["folder"]) / "model")
    del data
    asked = [query.text for query in next(shop.queries(job.get("questions", 50), "test"))]
    found |= _answer(Path(job["folder"]) / "model", asked)
    print(json.dumps(found))


def _train(data: Dataset, text: HashedText, config: MachConfig, folder: Path) -> dict[str, Any]:
    forget_high_water()
    before = resident()
    begun = time.process_time()
    fit(data, config, folder, text=text, executor="local")
    seconds = time.process_time() - begun
    size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    return {"seconds": seconds, "training memory": high_water() - before, "bytes": size}


def _answer(folder: Path, texts: list[str]) -> dict[str, Any]:
    """Seconds a query and peak memory of the top 100, by each estimator; the first answer is not timed."""
    forget_high_water()
    before = resident()
    predictor: Predictor = load(folder, verify=False, allow_partial=True)
    seconds = {}
    for estimator in ("mean", "log"):
        predictor.top_k(texts[:1], 100, estimator=estimator)
        begun = time.process_time()
        predictor.top_k(texts, 100, estimator=estimator)
        seconds[f"answer, {estimator}"] = (time.process_time() - begun) / len(texts)
    return {**seconds, "answering memory": high_water() - before}


if __name__ == "__main__":
    main(sys.argv[1])
