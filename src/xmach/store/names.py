"""Label names in an Arrow file: strings, whole numbers, floats or booleans, as they were given."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa

from xmach.data.labels.mapped_names import MappedNames
from xmach.errors import ModelCorrupt, NotStorable
from xmach.files import atomic_file
from xmach.types import AnyArray


def write_names(path: Path, names: AnyArray | Sequence[str]) -> None:
    """Write label names, atomically."""
    try:
        column = pa.array(names)
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError) as error:
        raise NotStorable(f"label names of mixed or unknown types cannot be saved ({error})") from None
    except UnicodeError as error:
        raise NotStorable(f"a label name has half of a surrogate pair, which is not text ({error})") from None
    table = pa.table({"label": column})
    with (
        atomic_file(path, parents=True) as new,
        pa.OSFile(str(new), "wb") as file,
        pa.ipc.new_file(file, table.schema) as writer,
    ):
        writer.write_table(table)


def read_names(path: Path) -> MappedNames:
    """Map the names in a file. Raise `ModelCorrupt` if the file is damaged."""
    try:
        return MappedNames(path, "label")
    except (pa.ArrowInvalid, KeyError, OSError) as error:
        raise ModelCorrupt(f"{path}: the label names are damaged ({error})") from None
