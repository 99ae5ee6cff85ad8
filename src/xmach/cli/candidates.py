"""`--candidates FILE`: the labels that answers are to be taken from."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from xmach.cli.progress import say
from xmach.cli.reading import written
from xmach.data.labels.names import find_names, read_label_names
from xmach.errors import DataFileError, InputError
from xmach.predictor import Predictor
from xmach.types import IntArray


def read_candidates(file: Path, predictor: Predictor) -> IntArray:
    """The ids of the labels in a file, ascending; one a line, by name, or where none of the lines is a name, by id."""
    lines = read_label_names(file)
    if predictor.label_names is not None:
        try:
            found = find_names(predictor.label_names, lines, written)
        except InputError as error:  # a name of two labels
            raise DataFileError(file, None, str(error)) from None
        if found or not all(map(_is_number, lines)):
            for line, name in enumerate(lines, 1):
                if name not in found:
                    raise DataFileError(file, line, f"{name!r} is no label of this model")
            return np.unique(np.array(list(found.values()), np.int64))
        say(f"{file}: no line is the name of a label: they are taken as ids")
    last = predictor.n_labels - 1
    for line, number in enumerate(lines, 1):
        if not _is_number(number) or int(number) > last:
            raise DataFileError(file, line, f"{number!r} is no label of this model: ids go from 0 to {last}")
    return np.unique(np.array(lines, np.int64))


def _is_number(line: str) -> bool:
    return line.isascii() and line.isdecimal() and len(line) < 19  # more digits than any id
