"""Reading a data file with progress on stderr and a word about what was skipped."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from xmach.cli.arguments import cache_folder
from xmach.cli.choices import Format, OnError
from xmach.cli.progress import Meter, say
from xmach.data import Dataset, read_dataset
from xmach.store import ModelStore


class Width(NamedTuple):
    """The features and labels that rows must fit."""

    n_features: int | None = None
    label_names: Sequence[str] | None = None
    n_labels: int | None = None

    @classmethod
    def of_data(cls, data: Dataset) -> Width:
        """Those of a dataset."""
        return cls(data.n_features, data.label_names, None if data.label_names is not None else data.n_labels)

    @classmethod
    def of_model(cls, store: ModelStore) -> Width:
        """Those of a model."""
        plan, names = store.plan(), store.label_names()
        labels = None if names is None else [_text(name) for name in names.tolist()]
        return cls(plan.n_features, labels, plan.hashes.n_labels if labels is None else None)


def _text(name: object) -> str:
    """A label's name as a file would have it: classes that are whole floats are written as whole numbers."""
    return str(int(name)) if isinstance(name, float) and name.is_integer() else str(name)


def read(file: Path, format: Format, on_error: OnError, cache: Path | None, width: Width = Width()) -> Dataset:
    """The dataset in a file."""
    with Meter(f"reading {file.name}", "B") as meter:
        data = read_dataset(
            file,
            format.value,
            on_error=on_error.value,
            n_features=width.n_features,
            label_names=width.label_names,
            n_labels=width.n_labels,
            cache=cache_folder(cache),
            progress=meter.update,
        )
    for reason, count in data.skipped.items():
        say(f"{file}: skipped {count} row{'s' if count != 1 else ''}: {reason}")
    return data
