"""Named arrays in safetensors files: written whole, with a checksum of their own; read by memory map."""

from __future__ import annotations

import hashlib
import json
import mmap
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import save_file

from xmach.errors import ModelCorrupt
from xmach.files import atomic_file
from xmach.models.pages import Region
from xmach.types import AnyArray

_DTYPES = {"F32": np.float32, "F64": np.float64, "I64": np.int64, "I32": np.int32}
_DTYPES |= {"I8": np.int8, "U8": np.uint8, "U16": np.uint16, "U32": np.uint32}
_KEY = "xmach"  # one metadata key: with more, safetensors writes them in no fixed order


class MappedTensors(NamedTuple):
    """A file of arrays: the arrays, memory-mapped and read-only; what is said about them; where each one lies."""

    arrays: dict[str, AnyArray]
    about: dict[str, Any]
    regions: dict[str, Region]


def write_tensors(path: Path, arrays: Mapping[str, AnyArray], about: dict[str, Any]) -> None:
    """Write arrays and facts about them, atomically; the same arrays and facts give the same bytes."""
    contiguous = {name: np.ascontiguousarray(array) for name, array in sorted(arrays.items())}
    facts = json.dumps(about | {"sha256": _digest(contiguous)}, sort_keys=True)
    with atomic_file(path, parents=True) as new:
        try:
            save_file(contiguous, new, metadata={_KEY: facts})
        except SafetensorError as error:  # it hides a full disk, for one
            raise OSError(f"{path}: cannot be written ({error})") from None


def read_tensors(path: Path, verify: bool) -> tuple[dict[str, AnyArray], dict[str, Any]]:
    """The arrays of a file, memory-mapped and read-only, and the facts; `verify` checks their checksum."""
    arrays, about, _ = map_tensors(path, verify)
    return arrays, about


def map_tensors(path: Path, verify: bool) -> MappedTensors:
    """The same, and where in the file each array lies."""
    try:
        size = path.stat().st_size
        with path.open("rb") as file:
            length = int.from_bytes(file.read(8), "little")
            if size < 8 or length > size - 8:
                raise ModelCorrupt(f"{path}: the file is cut off ({size} bytes); copy it again or train it anew")
            header = json.loads(file.read(length))
        about = json.loads(header.pop("__metadata__")[_KEY])
        regions = _regions(path, header, 8 + length, size)
        arrays = _arrays(header, regions)
        expected = about.pop("sha256")
    except FileNotFoundError:
        raise ModelCorrupt(f"{path}: this file of the model is not there") from None
    except (KeyError, TypeError, ValueError, UnicodeDecodeError) as error:
        raise ModelCorrupt(f"{path}: this is not an xmach file, or its header is damaged ({error})") from None
    # over a map of its own: the pages that the check touches do not stay in memory, R models of them
    if verify and _digest(_arrays(header, _regions(path, header, 8 + length, size))) != expected:
        raise ModelCorrupt(f"{path}: the content does not match its checksum; copy it again or train it anew")
    return MappedTensors(arrays, about, regions)


def _regions(path: Path, header: dict[str, Any], base: int, size: int) -> dict[str, Region]:
    """Where each array lies in a map of the file; refused where that is not within it."""
    with path.open("rb") as file:
        memory = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    regions = {}
    for name, entry in sorted(header.items()):
        start, stop = (base + int(offset) for offset in entry["data_offsets"])
        dtype, shape = _type(entry)
        if stop > size or stop - start != dtype.itemsize * int(np.prod(shape, dtype=np.int64)):
            raise ModelCorrupt(f"{path}: array {name} lies beyond the end of the file; copy it again or train it anew")
        regions[name] = Region(memory, start, stop)
    return regions


def _arrays(header: dict[str, Any], regions: Mapping[str, Region]) -> dict[str, AnyArray]:
    arrays = {}
    for name, region in regions.items():
        dtype, shape = _type(header[name])
        arrays[name] = np.frombuffer(region.memory, np.uint8)[region.start : region.stop].view(dtype).reshape(shape)
    return arrays


def _type(entry: dict[str, Any]) -> tuple[np.dtype[Any], tuple[int, ...]]:
    return np.dtype(_DTYPES[entry["dtype"]]), tuple(int(side) for side in entry["shape"])


def _digest(arrays: Mapping[str, AnyArray]) -> str:
    """SHA-256 over names, shapes and contents; safetensors itself accepts a flipped bit."""
    digest = hashlib.sha256()
    for name, array in sorted(arrays.items()):
        digest.update(f"{name} {array.dtype.str} {array.shape}\n".encode())
        digest.update(np.ascontiguousarray(array).view(np.uint8).data if array.size else b"")
    return digest.hexdigest()
