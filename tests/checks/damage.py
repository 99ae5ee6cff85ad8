"""Stored arrays with damage: changed bytes, and other lengths, types, shapes and values."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from xmach.types import AnyArray

Arrays = Mapping[str, AnyArray]
KINDS = [np.int8, np.uint8, np.uint16, np.int32, np.uint32, np.int64, np.float32, np.float64, ">u4", ">f4", bool]


def changed_bytes(names: Sequence[str]) -> Callable[[Callable[..., None]], Any]:
    """Decorate a test that takes `bits`, `name` and `changes`: it runs with 300 choices of what is damaged."""
    changes = st.lists(st.tuples(st.integers(0), st.integers(0, 255)), min_size=1)  # places and the bytes put there

    def decorated(test: Callable[..., None]) -> Any:
        drawn = given(bits=st.sampled_from([8, 32]), name=st.sampled_from(names), changes=changes)(test)
        return settings(deadline=None, max_examples=300)(drawn)

    return decorated


def with_changes(arrays: Arrays, name: str, changes: Sequence[tuple[int, int]]) -> dict[str, AnyArray]:
    """The arrays, one of them with some of its bytes changed."""
    damaged = bytearray(arrays[name].tobytes())
    for place, byte in changes:
        damaged[place % len(damaged)] = byte
    return {**arrays, name: np.frombuffer(damaged, arrays[name].dtype)}


def with_another(arrays: Arrays, name: str) -> Iterator[dict[str, AnyArray]]:
    """The arrays, one of them replaced by an array of another length, type or shape, or by another of the arrays."""
    array = arrays[name]
    others = [array[:0], array[:-1], array[1:], array[::2], array[::-1], np.append(array, array[-1:]), array[None]]
    others += [array.astype(kind) for kind in KINDS] + [array[0], np.zeros_like(array), np.ones_like(array)]
    largest = np.finfo(array.dtype).max if array.dtype.kind == "f" else np.iinfo(array.dtype).max
    others += [np.full_like(array, largest), np.full_like(array, -largest if array.dtype.kind in "fi" else 0)]
    for other in (*others, *arrays.values()):
        yield {**arrays, name: np.asarray(other)}
