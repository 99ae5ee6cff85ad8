"""Resolves the roles of a table's columns: the caller's choices, checked against the columns of the table."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from xmach.data.options import Columns, ReadOptions
from xmach.data.read.rows import RowError

BAD_HEADER = "bad header"
_LABEL_NAMES = ("labels", "label")  # default names of a label column
_SHOWN = 20  # columns listed in a message


def resolve_columns(names: Sequence[str], options: ReadOptions) -> Columns:
    """Return the columns with all roles resolved; raises RowError if they do not fit the table.

    Rows to predict (`with_labels=False`) need neither labels nor weights, so these are not read. If no features are
    named, the columns of labels and weights are not features of such rows, either. The exception is a column with a
    default label name, which is a feature if the model's width requires it.
    """
    wanted = options.columns
    if twice := [name for name, count in Counter(names).items() if count > 1]:
        raise RowError(BAD_HEADER, f"the column {twice[0]!r} occurs twice; rename one of them")
    labels = wanted.labels
    if labels is None:
        labels = next((name for name in _LABEL_NAMES if name in names), None)
    if options.with_labels and labels not in names:
        raise _missing(labels, names)
    weight = wanted.weight
    if options.with_labels and weight is not None and weight not in names:
        raise RowError(
            BAD_HEADER,
            f"there is no column {weight!r} (the weight; use --weight none if rows have none); {_listed(names)}",
        )
    for name in (*wanted.text, *wanted.features):
        if name not in names:
            raise RowError(BAD_HEADER, f"there is no column {name!r}; {_listed(names)}")
    features = wanted.features
    if not wanted.text and not features:
        features = tuple(name for name in names if name not in (labels, weight))
        if not options.with_labels and wanted.labels is None and options.n_features == len(features) + 1:
            features = tuple(name for name in names if name != weight)
        _check_features(features, names)
    if not wanted.text and options.n_features not in (None, len(features)):
        found = f"{len(features)} columns of numbers ({_listed(features)})"
        raise RowError(BAD_HEADER, f"the table has {found}, but {options.n_features} features are expected")
    return replace(columns_to_read(options), labels=labels if options.with_labels else None, features=features)


def columns_to_read(options: ReadOptions) -> Columns:
    """Return the columns that the caller named, without those that rows to predict do not need."""
    return options.columns if options.with_labels else replace(options.columns, labels=None, weight=None)


def _missing(labels: str | None, names: Sequence[str]) -> RowError:
    what = "no column 'labels' or 'label'" if labels is None else f"no column {labels!r} (the labels)"
    return RowError(BAD_HEADER, f"there is {what}; {_listed(names)}; name the column of the labels")


def _check_features(features: Sequence[str], names: Sequence[str]) -> None:
    if not features:
        raise RowError(BAD_HEADER, f"no column is left for the features; {_listed(names)}")
    if "" in features:
        place = list(names).index("") + 1
        message = f"column {place} has no name (the index of a DataFrame?); name the columns that are features"
        raise RowError(BAD_HEADER, message)


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return f"the columns are {', '.join(map(repr, names[:_SHOWN]))}{more}"
