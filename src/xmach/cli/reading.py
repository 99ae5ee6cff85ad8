"""Reading a data file with progress on stderr and a word about what was skipped."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from xmach.cli.arguments import cache_folder
from xmach.cli.progress import Meter, say
from xmach.cli.texts import learn_vocabulary
from xmach.data import Columns, Dataset, ReadOptions, merge_rows, read_dataset, read_label_names
from xmach.data.labels.filters import read_filter
from xmach.data.options import OnError
from xmach.data.read.formats import TABLES, resolve_format
from xmach.errors import ParameterError
from xmach.features import HashedText
from xmach.store import ModelStore
from xmach.types import SparseRows, TextRows

if TYPE_CHECKING:
    from xmach.features import VocabularyText

BY_ID = ("xmc", "split", "npz")  # formats whose labels are ids
NO_WEIGHT = "none"  # for --weight: not the column of the training file either


@dataclass(frozen=True)
class ReadRequest:
    """How to read a file, as the options of the command say."""

    format: str = "auto"
    on_error: OnError = "stop"
    cache: Path | None = None
    columns: Columns = field(default_factory=Columns)
    header: bool | None = None  # None: as in the training file, or else there is one
    label_file: Path | None = None
    merge: bool = False  # rows of equal features into one


class ExpectedSchema(NamedTuple):
    """What rows must have to suit a model: width, labels, and the vectorizer of texts."""

    n_features: int | None = None
    label_names: Sequence[str] | None = None
    n_labels: int | None = None
    text: TextRows | None = None
    columns: Columns | None = None  # those of the training file

    @classmethod
    def of_data(cls, data: Dataset, text: TextRows | None) -> ExpectedSchema:
        """Rows like those of a dataset."""
        n_labels = None if data.label_names is not None else data.n_labels
        return cls(data.n_features, data.label_names, n_labels, text, data.columns)

    @classmethod
    def of_model(cls, store: ModelStore, with_labels: bool = True) -> ExpectedSchema:
        """Rows for a model; rows without labels need not know what millions of labels are called."""
        plan, names = store.plan(), store.label_names() if with_labels else None
        labels = None if names is None else [written(name) for name in names.tolist()]
        return cls(
            n_features=plan.n_features,
            label_names=labels,
            n_labels=plan.hashes.n_labels if labels is None else None,
            text=store.text(),
            columns=None if plan.columns is None else Columns.from_dict(plan.columns),
        )


def written(name: object) -> str:
    """A label's name as a file would have it: classes that are whole floats are written as whole numbers."""
    return str(int(name)) if isinstance(name, float) and name.is_integer() else str(name)


def read(
    file: Path, request: ReadRequest, schema: ExpectedSchema = ExpectedSchema(), with_labels: bool = True
) -> Dataset:
    """The dataset in a file; columns that are not named are those of the file that the model was trained on."""
    name = resolve_format(file, request.format)
    columns = _columns(file, name, request, schema, with_labels)
    if name in BY_ID and schema.label_names is not None and _are_other_numbers(schema.label_names):
        say(f"warning: {file} numbers labels from 0, but this model calls them {schema.label_names[0]}, and so on")
    with Meter(f"reading {file.name}", "B") as meter:
        data = read_dataset(
            file,
            name,
            on_error=request.on_error,
            n_features=schema.n_features,
            label_names=schema.label_names,
            # svmlight and vw have labels where none are asked for, which may be others than the model's
            n_labels=None if not with_labels and name in ("svmlight", "vw") else schema.n_labels,
            columns=columns,
            text=schema.text,
            label_file=request.label_file,
            with_labels=with_labels,
            cache=cache_folder(request.cache),
            on_progress=meter.update,
        )
    for reason, count in data.skipped.items():
        say(f"{file}: skipped {count} row{'s' if count != 1 else ''}: {reason}")
    if not request.merge:
        return data
    merged = merge_rows(data, cache_folder(request.cache))
    say(f"{file}: {data.n_rows:,} rows have {merged.n_rows:,} different features: one row each")
    return merged


def training_schema(
    file: Path,
    request: ReadRequest,
    features: int | None,
    label_names: Path | None,
    text: HashedText | VocabularyText | None = None,
) -> ExpectedSchema:
    """What the rows to train on must have; a vocabulary is learned from the file here."""
    name = resolve_format(file, request.format)
    if label_names is not None and name not in BY_ID:
        raise ParameterError(f"--label-names is for {', '.join(BY_ID)}; the labels of {name} files are names already")
    names = None if label_names is None else read_label_names(label_names)
    if text is None or isinstance(text, HashedText):
        return ExpectedSchema(None if text else features, names, text=text)
    columns = _columns(file, name, request, ExpectedSchema(text=text), with_labels=True)
    options = ReadOptions(request.on_error, columns=columns or Columns())
    return ExpectedSchema(None, names, text=learn_vocabulary(text, file, name, options, cache_folder(request.cache)))


def labels_to_leave_out(filter_file: Path, file: Path, format: str, data: Dataset, merged: bool) -> SparseRows:
    """The pairs of row and label in a filter file of the XMC repository."""
    if (name := resolve_format(file, format)) not in BY_ID:
        raise ParameterError(f"--filter-labels is for {', '.join(BY_ID)}, whose labels are ids; {file} is {name}")
    if merged:
        raise ParameterError("--filter-labels counts all rows of the file: leave out --merge")
    if data.skipped:
        raise ParameterError("--filter-labels counts all rows of the file: mend bad rows instead of skipping them")
    return read_filter(filter_file, data.n_rows, data.n_labels)


def _columns(file: Path, name: str, request: ReadRequest, schema: ExpectedSchema, with_labels: bool) -> Columns | None:
    """The columns that were named, or if none was, those of the training file; None if the file is not a table."""
    given, known = request.columns, schema.columns
    if name not in TABLES:
        if given != Columns():
            raise ParameterError(f"{file} is not a table but {name}: columns are for {', '.join(TABLES)}")
        return None
    if request.header is not None and name not in ("csv", "tsv"):
        raise ParameterError(f"{file}: {name} files name their columns; --header and --no-header are for csv and tsv")
    columns = given
    if known is not None:
        columns = _over(given, known if with_labels else replace(known, labels=None, weight=None))
        columns = replace(columns, header=known.header if request.header is None else request.header)
    if schema.text is None and columns.text:
        raise ParameterError("--text: this model was trained on numbers, not on text; name columns with --numbers")
    if schema.text is not None and not columns.text:
        raise ParameterError(f"{file}: this model reads text; name its column with --text")
    return replace(columns, weight=None) if columns.weight == NO_WEIGHT else columns


def _over(given: Columns, known: Columns) -> Columns:
    """The columns given, and where none is given, those known."""
    if given.features and known.text:
        raise ParameterError("--numbers: this model was trained on text; name its column with --text")
    names = ("text", "labels", "features", "weight", "label_separator")
    return replace(known, **{name: getattr(given, name) for name in names if getattr(given, name)})


def _are_other_numbers(names: Sequence[str]) -> bool:
    """Whether labels are called by whole numbers that are not their ids."""
    return all(name.isdecimal() for name in names) and any(name != str(i) for i, name in enumerate(names))
