"""Labels in a separate file: which formats have one, and its usual name."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

from xmach.data.options import ReadOptions
from xmach.errors import DataFileError, ParameterError

APART = ("split", "npz")


def usual_label_file(path: str | os.PathLike[str]) -> Path | None:
    """Return the label file of a feature file by its usual name, packed or not; None if there is none."""
    return next((candidate for candidate in _candidates(Path(path)) if candidate.is_file()), None)


def with_label_file(options: ReadOptions, path: Path, format: str) -> ReadOptions:
    """Add the label file to the options if the format needs one: the given one, or the one with the usual name."""
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
        seen = f"there is no {names[0]} beside it" if names else "its name does not say which"
        message = f"the labels are in another file, and {seen}: pass it as label_file (--label-file)"
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
