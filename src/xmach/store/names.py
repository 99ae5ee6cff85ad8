"""Label names in an Arrow file: strings, whole numbers, floats or booleans, as they were given."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa

from xmach.errors import ModelCorrupt, NotStorable
from xmach.store.atomic import write_atomically
from xmach.types import AnyArray


def write_names(path: Path, names: AnyArray | Sequence[str]) -> None:
    """Write label names, atomically."""
    try:
        column = pa.array(names)
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError) as error:
        raise NotStorable(f"label names of mixed or unknown types cannot be saved ({error})") from None
    table = pa.table({"label": column})

    def write(temporary: Path) -> None:
        with pa.OSFile(str(temporary), "wb") as file, pa.ipc.new_file(file, table.schema) as writer:
            writer.write_table(table)

    write_atomically(path, write)


def read_names(path: Path) -> AnyArray:
    """The label names of a file."""
    try:
        with pa.memory_map(str(path)) as source:
            names = pa.ipc.open_file(source).read_all()["label"]
            return np.asarray(names.to_numpy(zero_copy_only=False))
    except (pa.ArrowInvalid, KeyError, OSError) as error:
        raise ModelCorrupt(f"{path}: the label names are damaged ({error})") from None
