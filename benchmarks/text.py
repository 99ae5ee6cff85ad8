"""Text to rows: `HashedText` against scikit-learn's `HashingVectorizer` with the same n-grams, in turn, one thread.

Both take every word, of one letter too. scikit-learn counts the trigrams, of words with a blank at either end, in a
vectorizer of their own; putting its columns beside those of words and pairs is not timed.
"""

from __future__ import annotations

import gzip
from typing import Any

import numpy as np
from sklearn.feature_extraction.text import HashingVectorizer

from benchmarks.contest import alternate
from benchmarks.places import data_folder, table, write_results
from xmach.features import HashedText

ROUNDS = 7
N_FEATURES = 80_000
KINDS = {
    "words": HashedText(N_FEATURES, bigrams=False, trigrams=False),
    "words, pairs": HashedText(N_FEATURES, trigrams=False),
    "words, pairs, trigrams": HashedText(N_FEATURES),
}
FILES = {
    "queries (home_depot)": "home_depot/pairs_train.tsv.gz",
    "titles (home_depot)": "home_depot/title_rows.tsv.gz",
    "records (tate)": "tate/train.tsv.gz",
}
MOST_BYTES = 700_000


def main() -> None:
    """Time both on real short texts and on made-up long ones."""
    results: list[dict[str, Any]] = []
    sets = {name: real_texts(file) for name, file in FILES.items()} | {"made-up documents": made_up()}
    for name, texts in sets.items():
        for kinds, ours in KINDS.items():
            results.append({"texts": name, "kinds": kinds} | _compare(texts, ours))
    header = ["texts", "MB", "tokens", "xmach, MB/s", "texts/s", "scikit-learn, MB/s", "times as fast"]
    rows = [
        [each["texts"], f"{each['bytes'] / 1e6:.1f}", each["kinds"], *each["shown"], each["ratio"]] for each in results
    ]
    write_results("text", results, table(header, rows))


def _compare(texts: list[str], ours: HashedText) -> dict[str, Any]:
    theirs = _vectorizers(ours)
    times = alternate(
        {"xmach": lambda: ours.transform(texts), "sklearn": lambda: [each.transform(texts) for each in theirs]}, ROUNDS
    )
    size = sum(len(text.encode()) for text in texts)
    mine, other = times.spread("xmach").median, times.spread("sklearn").median
    return {
        "bytes": size,
        "n_texts": len(texts),
        "shown": [f"{size / mine / 1e6:.1f}", f"{len(texts) / mine:,.0f}", f"{size / other / 1e6:.1f}"],
        "ratio": str(times.ratio("sklearn", "xmach")),
        "times": times.to_dict(),
    }


def _vectorizers(ours: HashedText) -> list[HashingVectorizer]:
    """Counts as ours, not normalised; the last only where there are trigrams."""
    plain = {"n_features": N_FEATURES, "norm": None, "alternate_sign": False, "dtype": np.float32}
    words = HashingVectorizer(ngram_range=(1, 2 if ours.bigrams else 1), token_pattern=r"(?u)\b\w+\b", **plain)
    return [words, HashingVectorizer(analyzer="char_wb", ngram_range=(3, 3), **plain)] if ours.trigrams else [words]


def real_texts(file: str, most_bytes: int = MOST_BYTES) -> list[str]:
    """The texts at the beginning of a file."""
    texts, size = [], 0
    with gzip.open(data_folder() / file, "rt", encoding="utf-8") as lines:
        for line in lines:
            texts.append(line.rstrip("\n").split("\t")[1])
            size += len(texts[-1])
            if size > most_bytes:
                break
    return texts


def made_up() -> list[str]:
    """Documents of 500 words, which follow Zipf's law and have 2 to 12 letters; some begin with a capital."""
    draw = np.random.default_rng(0)
    letters = np.array(list("etaoinshrdlcumwfgypbvkjxqz"))
    vocabulary = ["".join(draw.choice(letters, draw.integers(2, 13))) for _ in range(20_000)]
    texts = []
    for _ in range(MOST_BYTES // 4000):
        words = [vocabulary[i] for i in (20_000 ** draw.random(500)).astype(np.int64) - 1]
        texts.append(" ".join(word.capitalize() if i % 12 == 0 else word for i, word in enumerate(words)) + ".")
    return texts
