"""The fast row parser: whole chunks of clean rows at once; anything odd is left to `exact`, its slow twin."""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from xmach.data.exact import BlankLines, parse_exact
from xmach.data.lines import Chunk
from xmach.data.rows import Batch, Rules, repeats, row_order, to_float32
from xmach.types import BoolArray, IntArray

_EXACT_BYTES = 1 << 14  # an odd chunk is divided down to this before the slow parser takes over
_PIECES = 8
_SEPARATORS = b"\n :,"
_NEWLINE, _SPACE, _COLON, _COMMA = range(4)
_IS_SEPARATOR = bytes(byte in _SEPARATORS for byte in range(256))
_SEPARATOR_CODE = bytes(max(_SEPARATORS.find(byte), 0) for byte in range(256))
_EXPECTED = b"0123456789+-.eE" + _SEPARATORS
_COMMENT = re.compile(rb"#[^\n]*")
_SPACES = re.compile(rb" {2,}")

_ODD, _LABEL, _INDEX, _VALUE = range(4)
_KIND = np.full((4, 4), _ODD, np.uint8)  # the kind of a token, by the separators before and after it
_KIND[_NEWLINE, [_NEWLINE, _SPACE, _COMMA]] = _LABEL
_KIND[_COMMA, [_NEWLINE, _SPACE, _COMMA]] = _LABEL
_KIND[[_NEWLINE, _SPACE], _COLON] = _INDEX
_KIND[_COLON, [_NEWLINE, _SPACE]] = _VALUE


class RowParser:
    """The rows of a file, chunk after chunk: fast where they are clean, exact where they are not."""

    def __init__(self, rules: Rules) -> None:
        self._rules = rules
        self._blanks = BlankLines()

    def parse(self, chunk: Chunk) -> Iterator[Batch]:
        """The rows of the next chunk, in order."""
        batch = parse_fast(chunk, self._rules)
        if batch is not None:
            batch.faults.extend(self._blanks.end())
            yield batch
        elif len(chunk.data) <= _EXACT_BYTES:
            yield parse_exact(chunk, self._rules, self._blanks)
        else:
            pieces = list(chunk.pieces(_PIECES))
            if len(pieces) == 1:  # one long line
                yield parse_exact(chunk, self._rules, self._blanks)
                return
            for piece in pieces:
                yield from self.parse(piece)


def parse_fast(chunk: Chunk, rules: Rules) -> Batch | None:
    """The rows of a chunk, or None if anything in it is wrong or unusual."""
    data = _plain(chunk.data)
    if data is None:
        return None
    ends = np.flatnonzero(np.frombuffer(data.translate(_IS_SEPARATOR), np.bool_))  # (t,) a token ends at each separator
    after = np.frombuffer(data.translate(_SEPARATOR_CODE), np.uint8)[ends]
    before = np.empty_like(after)
    before[0], before[1:] = _NEWLINE, after[:-1]
    kind = _KIND[before, after]  # (t,)
    lengths = np.diff(ends, prepend=-1) - 1
    no_labels = (lengths == 0) & (before == _NEWLINE) & (after == _SPACE)  # the row starts with a blank
    kind[no_labels] = _VALUE + 1
    if not (kind.all() and lengths[~no_labels].all()):
        return None
    tokens = _strings(data.translate(None, _SEPARATORS), lengths)
    row_ends = np.flatnonzero(after == _NEWLINE)
    is_label, is_index = kind == _LABEL, kind == _INDEX
    try:
        labels = rules.labels(tokens.filter(pa.array(is_label)))
        features = tokens.filter(pa.array(is_index)).cast(pa.uint32()).to_numpy()
        values = to_float32(tokens.filter(pa.array(kind == _VALUE)))
    except pa.ArrowInvalid:
        return None
    if labels is None or not np.isfinite(values).all() or (features >= rules.n_features).any():
        return None
    label_counts, labels = _distinct(_counts(is_label, row_ends), labels)
    feature_counts, features = _counts(is_index, row_ends), features.astype(np.int32)
    order = row_order(feature_counts, features)
    if order is not None:
        features, values = features[order], values[order]
        if repeats(feature_counts, features).any():
            return None
    lines = np.arange(chunk.first_line, chunk.first_line + len(row_ends))
    return Batch(lines, label_counts, labels, feature_counts, features, values)


def _plain(data: bytes) -> bytes | None:
    """The lines with single spaces between tokens and none at the end; None if an unexpected byte is among them."""
    if b"#" in data:
        data = _COMMENT.sub(b"", data)
    if b"\r" in data:
        data = data.replace(b"\r\n", b"\n")
    if b"\t" in data:
        data = data.replace(b"\t", b" ")
    if data.translate(None, _EXPECTED):
        return None
    if b"  " in data:
        data = _SPACES.sub(b" ", data)
    return data.replace(b" \n", b"\n")


def _strings(text: bytes, lengths: IntArray) -> pa.StringArray:
    """Consecutive strings of the given lengths, without copying the text."""
    offsets = np.zeros(len(lengths) + 1, np.int32)
    np.cumsum(lengths, out=offsets[1:])
    return pa.StringArray.from_buffers(len(lengths), pa.py_buffer(offsets), pa.py_buffer(text))


def _counts(chosen: BoolArray, row_ends: IntArray) -> IntArray:
    """(n,) how many of the chosen tokens each row has."""
    return np.diff(np.cumsum(chosen, dtype=np.int64)[row_ends], prepend=0)


def _distinct(counts: IntArray, labels: IntArray) -> tuple[IntArray, IntArray]:
    """Labels sorted within their row, each once."""
    order = row_order(counts, labels)
    if order is None:
        return counts, labels
    labels = labels[order]
    again = repeats(counts, labels)
    if again.any():
        row = np.repeat(np.arange(len(counts)), counts)
        counts = counts - np.bincount(row[again], minlength=len(counts))
    return counts, labels[~again]
