"""`--candidates FILE`: answer with these labels only."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from xmach.cli.progress import say
from xmach.cli.reading import written
from xmach.data.labels.name_index import NameIndex
from xmach.data.labels.names import read_label_names
from xmach.errors import DataFileError, InputError
from xmach.predictor import Predictor
from xmach.types import IntArray


def read_candidates(file: Path, predictor: Predictor) -> IntArray:
    """Return the ids of the labels in a file, ascending. A line is a name; if no line is a name, lines are ids."""
    lines = read_label_names(file)
    if predictor.label_names is not None:
        try:
            found = NameIndex(predictor.label_names, written).find(lines)
        except InputError as error:  # a name of two labels
            raise DataFileError(file, None, str(error)) from None
        if found or not all(map(_is_number, lines)):
            for line, name in enumerate(lines, 1):
                if name not in found:
                    raise DataFileError(file, line, f"{name!r} is not a label of this model")
            return np.unique(np.array(list(found.values()), np.int64))
        say(f"{file}: no line is the name of a label: lines are read as ids")
    last = predictor.n_labels - 1
    for line, number in enumerate(lines, 1):
        if not _is_number(number) or int(number) > last:
            raise DataFileError(file, line, f"{number!r} is not a label of this model: ids go from 0 to {last}")
    return np.unique(np.array(lines, np.int64))


def _is_number(line: str) -> bool:
    return line.isascii() and line.isdecimal() and len(line) < 19  # more digits than any id
