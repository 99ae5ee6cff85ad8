"""Labels in a file of their own: which formats keep them apart, and what that file is usually called."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

from xmach.data.options import ReadOptions
from xmach.errors import DataFileError, ParameterError

APART = ("split", "npz")


def usual_label_file(path: str | os.PathLike[str]) -> Path | None:
    """The file beside one of features that has the usual name for its labels, packed or not; None if there is none."""
    return next((candidate for candidate in _candidates(Path(path)) if candidate.is_file()), None)


def with_label_file(options: ReadOptions, path: Path, format: str) -> ReadOptions:
    """The options with the label file that the format needs: the one that was given, otherwise the usual one."""
    if format not in APART:
        if options.label_file is not None:
            raise ParameterError(f"label_file is for the formats {' and '.join(APART)}; this one is {format}")
        return options
    if not options.with_labels:
        return replace(options, label_file=None)
    if options.label_file is not None:
        return options
    found = usual_label_file(path)
    if found is None:
        names = [candidate.name for candidate in _candidates(path)]
        seen = f"there is no {names[0]} beside it" if names else "its name does not tell which"
        message = f"the labels are in another file, and {seen}: say where they are (label_file, --label-file)"
        raise DataFileError(path, None, message)
    return replace(options, label_file=found)


def _candidates(path: Path) -> list[Path]:
    name = path.name
    if "X_Xf" in name:
        name = name.replace("X_Xf", "X_Y")
    elif name.startswith("X."):
        name = "Y" + name[1:]
    else:
        return []
    other = name.removesuffix(".gz") if name.endswith(".gz") else f"{name}.gz"
    return [path.with_name(name), path.with_name(other)]
