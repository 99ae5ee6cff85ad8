"""Text classification from CSV: queries and the products bought for them, from a file to ranked answers."""

import csv
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from xmach import load
from xmach.synthetic import Shop

folder = Path(tempfile.mkdtemp(prefix="xmach-example-"))
shop = Shop(n_products=1000)
titles = shop.titles()
for period, n_queries in (("train", 3000), ("test", 500)):
    with (folder / f"{period}.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["query", "bought", "sessions"])
        for query in (query for chunk in shop.queries(n_queries, period) for query in chunk):
            writer.writerow([query.text, "|".join(titles[product] for product in query.products), query.sessions])


def xmach(*arguments: object) -> None:
    subprocess.run([sys.executable, "-m", "xmach", *map(str, arguments)], check=True)


model, columns = folder / "model", ("--text", "query", "--labels", "bought", "--label-separator", "|")
network = ("--buckets", 200, "--repetitions", 4, "--hidden", 64, "--features", 20_000)
xmach("train", folder / "train.csv", "--model", model, *columns, "--weight", "sessions", *network)
xmach("evaluate", model, folder / "test.csv", "--k", "1,10")  # the columns are those of the training file
print(load(model).top_k(["blue running shoes"], k=3).labels[0])
shutil.rmtree(folder)
