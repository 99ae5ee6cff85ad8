"""Reading a data file with progress on stderr and a word about what was skipped."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import NamedTuple

from xmach.cli.arguments import cache_folder
from xmach.cli.choices import Format, OnError
from xmach.cli.progress import Meter, say
from xmach.data import Columns, Dataset, read_dataset
from xmach.errors import ParameterError
from xmach.features import HashedText
from xmach.store import ModelStore

NO_WEIGHT = "none"  # for --weight: not the column of the training file either


@dataclass(frozen=True)
class How:
    """How the command line says to read files."""

    format: Format = Format.auto
    on_error: OnError = OnError.stop
    cache: Path | None = None
    columns: Columns = field(default_factory=Columns)
    label_file: Path | None = None


class Fit(NamedTuple):
    """What rows must fit: width, labels, and how text becomes rows."""

    n_features: int | None = None
    label_names: Sequence[str] | None = None
    n_labels: int | None = None
    text: HashedText | None = None
    columns: Columns | None = None  # those of the training file

    @classmethod
    def of_data(cls, data: Dataset, text: HashedText | None) -> Fit:
        """Rows like those of a dataset."""
        n_labels = None if data.label_names is not None else data.n_labels
        return cls(data.n_features, data.label_names, n_labels, text, data.columns)

    @classmethod
    def of_model(cls, store: ModelStore) -> Fit:
        """Rows for a model."""
        plan, names = store.plan(), store.label_names()
        labels = None if names is None else [_text(name) for name in names.tolist()]
        return cls(
            n_features=plan.n_features,
            label_names=labels,
            n_labels=plan.hashes.n_labels if labels is None else None,
            text=None if plan.features is None else HashedText.from_dict(plan.features),
            columns=None if plan.columns is None else Columns.from_dict(plan.columns),
        )


def _text(name: object) -> str:
    """A label's name as a file would have it: classes that are whole floats are written as whole numbers."""
    return str(int(name)) if isinstance(name, float) and name.is_integer() else str(name)


def read(file: Path, how: How, fit: Fit = Fit(), with_labels: bool = True) -> Dataset:
    """The dataset in a file; columns that are not named are those of the file that the model was trained on."""
    columns, known = how.columns, fit.columns
    if known is not None:
        columns = _over(columns, known if with_labels else replace(known, labels=None, weight=None))
    if columns.weight == NO_WEIGHT:
        columns = replace(columns, weight=None)
    if columns.text and fit.text is None:
        raise ParameterError("--text: this model was trained on numbers, not on text; name columns with --numbers")
    with Meter(f"reading {file.name}", "B") as meter:
        data = read_dataset(
            file,
            how.format.value,
            on_error=how.on_error.value,
            n_features=fit.n_features,
            label_names=fit.label_names,
            n_labels=fit.n_labels,
            columns=columns,
            text=fit.text,
            label_file=how.label_file,
            with_labels=with_labels,
            cache=cache_folder(how.cache),
            progress=meter.update,
        )
    for reason, count in data.skipped.items():
        say(f"{file}: skipped {count} row{'s' if count != 1 else ''}: {reason}")
    return data


def _over(given: Columns, known: Columns) -> Columns:
    """The columns given, and where none is given, those known."""
    names = ("text", "labels", "features", "weight", "label_separator")
    named = {name: getattr(given, name) for name in names if getattr(given, name)}
    return replace(known, header=given.header and known.header, **named)
