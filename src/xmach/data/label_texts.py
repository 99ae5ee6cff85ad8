"""Texts of labels, such as the titles of products: which label each belongs to, and its row."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from xmach.data.dataset import Dataset
from xmach.data.dataset_cache import built, describe
from xmach.data.labels.mapped_names import MappedNames
from xmach.data.labels.name_index import NameIndex
from xmach.data.npy import SparseAppender, add_arrays
from xmach.errors import InputError, ParameterError
from xmach.types import AnyArray, Int32Array, IntArray, SparseRows, row_batches

VERSION = 1  # part of the cache key: raise it when the same texts would be written differently
_ROWS = 1 << 16  # rows copied, and names looked up, at a time


@dataclass(frozen=True, eq=False, repr=False)
class LabelTexts:
    """The texts of m labels as rows of the vectorizer that made the training rows; not scaled."""

    ids: IntArray  # (m,) labels, strictly ascending
    rows: SparseRows  # (m, d) none of them empty; the arrays may be memory-mapped

    def __repr__(self) -> str:
        return f"<LabelTexts of {len(self.ids):,} labels, {self.rows.n_columns:,} features>"

    def __post_init__(self) -> None:
        if len(self.ids) != self.rows.n_rows:
            raise InputError(f"there are {len(self.ids)} labels but {self.rows.n_rows} rows of texts")
        if len(self.ids) and (self.ids[0] < 0 or not _ascend(self.ids)):
            raise InputError("the labels of texts must be ids in ascending order, each once; use LabelTexts.of")

    @classmethod
    def of(cls, ids: IntArray, rows: SparseRows) -> LabelTexts:
        """Build from texts in any order, each label once; texts without a word (empty rows) are left out."""
        order = _order(ids, rows)
        return cls(ids, rows) if _is_whole(order, rows.n_rows) else cls(ids[order], _copied(rows, order))

    def check_fits(self, data: Dataset) -> None:
        """Raise `ParameterError` if these cannot be texts of the dataset's labels, made by its vectorizer."""
        if self.rows.n_columns != data.n_features:
            widths = f"{self.rows.n_columns} features, but the data have {data.n_features}"
            raise ParameterError(f"label_text has rows of {widths}; use the vectorizer that made the rows")
        if len(self.ids) and self.ids[-1] >= data.n_labels:
            seen = f"a text of label {self.ids[-1]}, but the data have {data.n_labels} labels"
            raise ParameterError(f"label_text has {seen}; use the dataset that add_label_texts returned")

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 of the contents, the same in memory and mapped."""
        digest, rows = hashlib.sha256(json.dumps(self.rows.shape).encode()), self.rows
        arrays: dict[str, AnyArray] = {
            "ids": self.ids,
            "indptr": rows.indptr,
            "indices": rows.indices,
            "values": rows.values,
        }
        add_arrays(digest, arrays)
        return digest.hexdigest()


def add_label_texts(
    data: Dataset, texts: Dataset, cache: str | os.PathLike[str] | None = None
) -> tuple[Dataset, LabelTexts]:
    """Match the texts of `read_label_texts` with the labels of a dataset by name. New labels join the dataset's.

    New labels get the ids after the others, in the order of a file (numbers by value, otherwise as text). A label whose
    text has no word has no text, and does not join. The dataset is returned as it is if there is no new label. With a
    `cache` folder, rows that are not in the order of the ids are written there in that order and memory-mapped.
    """
    features, owners = texts.features, texts.labels.indices  # (m,) a row has one label
    assert isinstance(features, SparseRows)
    assert texts.label_names is not None  # a table names its labels
    with_words = np.flatnonzero(np.diff(features.indptr))
    ids, new = _match(texts.label_names, np.sort(owners[with_words]), data)
    data = data.with_more_labels(new)
    if cache is None:
        return data, LabelTexts.of(ids[owners], features)
    return data, _in_order(ids[owners], texts, data.n_labels, Path(cache))


def _match(names: Sequence[str], wanted: Int32Array, data: Dataset) -> tuple[IntArray, list[str]]:
    """Return the ids in the dataset of the wanted names (-1 for others), and the new labels, whose ids follow."""
    ids, new = np.full(len(names), -1, np.int64), list[str]()
    known = None if data.label_names is None else NameIndex(_by_ids(data.label_names))
    named = _by_ids(names)
    for start, stop in row_batches(len(wanted), _ROWS):
        here = wanted[start:stop]
        block = named[here].tolist()
        found = _numbered(block, data.n_labels) if known is None else known.find(block)
        places = np.array([found.get(name, -1) for name in block], np.int64)
        unknown = places < 0
        places[unknown] = data.n_labels + len(new) + np.arange(np.count_nonzero(unknown))
        ids[here] = places
        new += [name for name in block if name not in found]
    if new and known is None:
        seen = f"there is a text of {new[0]!r}"
        raise InputError(f"{seen}, but labels are the numbers 0 to {data.n_labels - 1}: leave it out")
    return ids, new


def _by_ids(names: Sequence[str]) -> MappedNames | AnyArray:
    """Names that arrays of ids can index."""
    return names if isinstance(names, MappedNames) else np.array(names, object)


def _numbered(names: Sequence[str], n_labels: int) -> dict[str, int]:
    """Return the ids of labels that are called by their numbers."""
    numbers = {name: int(name) for name in names if name.isdecimal() and len(name) < 20}
    return {name: number for name, number in numbers.items() if number < n_labels and str(number) == name}


def _in_order(ids: IntArray, texts: Dataset, n_labels: int, cache: Path) -> LabelTexts:
    """Return the texts in the order of their labels: as they are, or mapped from the cache."""
    rows = texts.features
    assert isinstance(rows, SparseRows)
    order = _order(ids, rows)
    if _is_whole(order, rows.n_rows):
        return LabelTexts(ids, rows)
    ids = ids[order]

    def build(folder: Path) -> None:
        with SparseAppender(folder, "features") as out:
            for start, stop in row_batches(len(order), _ROWS):
                part = rows.take(order[start:stop])
                out.append(np.diff(part.indptr), part.indices, part.values)
        texts.let_go()
        with SparseAppender(folder, "labels") as out:
            ones = np.ones(len(ids), np.int64)
            out.append(ones, ids, ones)
        describe(folder, rows.n_columns, n_labels, None, {}, None)

    digest = hashlib.sha256(json.dumps([VERSION, texts.fingerprint, n_labels]).encode())
    add_arrays(digest, {"order": order, "ids": ids})
    ordered = built(cache / f"label-texts-{digest.hexdigest()[:24]}", build)
    assert isinstance(ordered.features, SparseRows)
    return LabelTexts(ordered.labels.indices.astype(np.int64), ordered.features)


def _order(ids: IntArray, rows: SparseRows) -> IntArray:
    """Return the rows that have a word, in the order of their labels."""
    with_words = np.flatnonzero(np.diff(rows.indptr))
    return with_words[np.argsort(ids[with_words], kind="stable")]


def _is_whole(order: IntArray, n_rows: int) -> bool:
    """Return whether these are all rows, in the order in which they are."""
    return len(order) == n_rows and _ascend(order)


def _ascend(numbers: IntArray) -> bool:
    return bool(np.all(numbers[1:] > numbers[:-1]))


def _copied(rows: SparseRows, order: IntArray) -> SparseRows:
    """Return rows in another order, copied some at a time: `take` needs three times the memory of what it copies."""
    lengths = np.diff(rows.indptr)[order]
    indptr = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths, dtype=np.int64)])
    indices, values = np.empty(indptr[-1], np.int32), np.empty(indptr[-1], np.float32)
    for start, stop in row_batches(len(order), _ROWS):
        part, here = rows.take(order[start:stop]), slice(indptr[start], indptr[stop])
        indices[here], values[here] = part.indices, part.values
    return SparseRows(indptr, indices, values, rows.n_columns)
