"""Arrow arrays of texts to JSON strings."""

from __future__ import annotations

from typing import Any

import orjson
import pyarrow as pa
import pyarrow.compute as pc

_ESCAPED = r'["\\\x00-\x1f]'  # what JSON does not have as it is in a text


def encode_json(value: Any) -> str:
    """One label as JSON; `null` for a float that JSON has no number for."""
    return orjson.dumps(value).decode()


def json_texts(texts: pa.Array) -> pa.Array:
    """Quote each text; only those that need it are escaped."""
    quoted, escaped = pc.binary_join_element_wise('"', texts, '"', ""), pc.match_substring_regex(texts, _ESCAPED)
    return pc.replace_with_mask(quoted, escaped, json_values(texts.filter(escaped)))


def json_values(values: pa.Array) -> pa.Array:
    """Encode each value as JSON, one at a time."""
    return pa.array([encode_json(value) for value in values.to_pylist()], pa.string())


def text_bytes(texts: pa.Array) -> bytes:
    """Concatenate all texts of an array that is not a slice of another."""
    return bytes(texts.buffers()[2].to_pybytes()) if len(texts) else b""
