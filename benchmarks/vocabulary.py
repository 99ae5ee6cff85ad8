"""Text by the paper's vocabulary against plain hashing, in turn, one thread; and what learning it takes.

The memory of learning is the peak of what NumPy and Python hold beyond the texts, by `tracemalloc`, in a pass of its
own, as it slows Python down.
"""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from typing import Any

from benchmarks.contest import alternate
from benchmarks.places import table, write_results
from benchmarks.text import FILES, made_up, real_texts
from xmach.features import HashedText, VocabularyText

ROUNDS = 7


def main() -> None:
    """Time both on real short texts and on made-up long ones."""
    plain, paper = HashedText(), VocabularyText()
    sets = {name: real_texts(file, 10_000_000) for name, file in FILES.items()} | {"made-up documents": made_up()}
    results = [{"texts": name} | _measure(plain, paper, texts) for name, texts in sets.items()]
    header = ["texts", "MB", "hashed, MB/s", "vocabulary, MB/s", "times the speed", "learning, MB/s"]
    header += ["words, bigrams, trigrams found", "memory of learning, MB"]
    rows = [[each["texts"], *each["shown"]] for each in results]
    write_results("vocabulary", results, table(header, rows))


def _measure(plain: HashedText, paper: VocabularyText, texts: list[str]) -> dict[str, Any]:
    known = paper.learn(texts)
    contestants: dict[str, Callable[[], object]] = {
        "hashed": lambda: plain.transform(texts),
        "vocabulary": lambda: known.transform(texts),
        "learning": lambda: paper.learn(texts),
    }
    times = alternate(contestants, ROUNDS)
    size, held = sum(len(text.encode()) for text in texts), _learning_bytes(paper, texts)
    hashed, by_slots, learning = (f"{size / times.spread(name).median / 1e6:.1f}" for name in contestants)
    ratio, found = str(times.ratio("hashed", "vocabulary")), ", ".join(f"{n:,}" for n in known.found)
    return {
        "bytes": size,
        "n_texts": len(texts),
        "learning_bytes": held,
        "shown": [f"{size / 1e6:.1f}", hashed, by_slots, ratio, learning, found, f"{held / 1e6:.0f}"],
        "times": times.to_dict(),
    }


def _learning_bytes(text: VocabularyText, texts: list[str]) -> int:
    """The peak of a pass over the texts."""
    tracemalloc.start()
    try:
        text.learn(texts)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
