"""Small models, and `xmach serve` of them as a process."""

from __future__ import annotations

import contextlib
import itertools
import queue
import re
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import scipy.sparse as sp
from tests.conftest import made_up

from xmach import MACHClassifier

COMMAND = [sys.executable, "-m", "xmach", "serve"]
TOKEN = "a-token-of-the-tests"
START = 120  # s: compiled kernels may have to be compiled first
REPETITIONS, BUCKETS = 8, 24
COLOURS, MATERIALS = ("red", "blue", "green", "white"), ("steel", "wooden", "cotton")
THINGS = ("drill", "pan", "shoes", "lamp", "chair", "shirt")
MARKUP, ARABIC, LONG = "<img src=x onerror=\"document.title='broken'\">", "مثقاب كهربائي 18V", "lid " * 40 + "glass"
EXAMPLES = ("red steel drill", "blue cotton shirt", "white wooden lamp")


def train_shop(folder: Path) -> Path:
    """A text model of 72 products, and three with odd names: markup, right to left, very long."""
    names = [" ".join(words) for words in itertools.product(COLOURS, MATERIALS, THINGS)]
    texts, labels = list(names), list(names)
    for name in names:
        colour, material, thing = name.split()
        texts += [f"{colour} {thing}", f"{material} {thing}"]
        labels += [name, name]
    texts += ["picture tag", "picture", "electric arabic", "arabic", "glass lid", "lid"]
    labels += [MARKUP, MARKUP, ARABIC, ARABIC, LONG, LONG]
    model = MACHClassifier(BUCKETS, REPETITIONS, hidden=(), features="text", epochs=40, learning_rate=0.05, n_jobs=1)
    model.fit(texts, labels).save(folder)
    return folder


def train_rows(folder: Path) -> Path:
    """A model without text: 40 features, 30 labels without names."""
    data = made_up()
    features, labels = data.features, data.labels
    lists = [labels.indices[start:stop].tolist() for start, stop in itertools.pairwise(labels.indptr)]
    model = MACHClassifier(8, 4, hidden=(), epochs=5, n_jobs=1)
    matrix = sp.csr_matrix((features.values, features.indices, features.indptr), features.shape)
    model.fit(matrix, lists).save(folder)
    return folder


@contextlib.contextmanager
def serve(folder: Path, *options: object) -> Iterator[str]:
    """The address of a server of a model on a free port; it is stopped at the end."""
    command = [*COMMAND, folder, "--port", 0, *options]
    process = subprocess.Popen([str(part) for part in command], stderr=subprocess.PIPE, text=True)
    lines: queue.Queue[str] = queue.Queue()
    reader = threading.Thread(target=_read, args=(process, lines))
    reader.start()
    try:
        yield _address(lines)
    finally:
        process.terminate()
        process.wait(30)
        reader.join()
        process.stderr.close()


def _read(process: subprocess.Popen[str], lines: queue.Queue[str]) -> None:
    for line in process.stderr:
        lines.put(line)
    lines.put("")


def _address(lines: queue.Queue[str]) -> str:
    seen, until = [], time.monotonic() + START
    while True:
        try:
            line = lines.get(timeout=max(0, until - time.monotonic()))
        except queue.Empty:
            line = ""
        if found := re.search(r"serving .* at (http://\S+)", line):
            return found[1].rstrip("/")
        assert line, f"the server did not start: {''.join(seen)}"
        seen.append(line)
