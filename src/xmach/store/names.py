"""Label names in an Arrow file: strings, whole numbers, floats or booleans, as they were given."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from xmach.data.arrow import arrow_numbers
from xmach.errors import ModelCorrupt, NotStorable
from xmach.files import atomic_file
from xmach.types import AnyArray, IntArray


def write_names(path: Path, names: AnyArray | Sequence[str]) -> None:
    """Write label names, atomically."""
    try:
        column = pa.array(names)
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError) as error:
        raise NotStorable(f"label names of mixed or unknown types cannot be saved ({error})") from None
    except UnicodeError as error:
        raise NotStorable(f"a label name has half of a surrogate pair, which is no text ({error})") from None
    table = pa.table({"label": column})
    with (
        atomic_file(path, parents=True) as new,
        pa.OSFile(str(new), "wb") as file,
        pa.ipc.new_file(file, table.schema) as writer,
    ):
        writer.write_table(table)


class StoredNames:
    """Label names where they lie in their file: names of 50 million labels need no memory until asked for."""

    def __init__(self, path: Path) -> None:
        try:
            with pa.memory_map(str(path)) as source:
                self._column = pa.ipc.open_file(source).read_all()["label"]
        except (pa.ArrowInvalid, KeyError, OSError) as error:
            raise ModelCorrupt(f"{path}: the label names are damaged ({error})") from None

    def __len__(self) -> int:
        return len(self._column)

    def __getitem__(self, ids: IntArray) -> AnyArray:
        """The names of ids, in an array of their shape."""
        places = ids.ravel() % len(self)  # -1, no label, as in an array: the last name
        names = self._column.take(arrow_numbers(places))  # and no to_numpy, which imports pandas, too
        return np.array(names.to_pylist(), self._column.type.to_pandas_dtype()).reshape(ids.shape)

    def tolist(self) -> list[Any]:
        """All names."""
        names: list[Any] = self._column.to_pylist()
        return names
