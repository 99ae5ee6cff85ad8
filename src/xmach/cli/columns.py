"""The options that say what is what in data files: columns of tables, widths, files of labels and of their names."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from xmach.errors import ParameterError

if TYPE_CHECKING:
    from xmach.data import Columns

TextOption = Annotated[
    str | None, typer.Option("--text", metavar="COL", help="Tables: the column of text; several: title,body.")
]
LabelsOption = Annotated[
    str | None, typer.Option("--labels", metavar="COL", help="Tables: the column of labels, text or lists.")
]
SeparatorOption = Annotated[
    str | None, typer.Option("--label-separator", metavar="S", help="Tables: what divides labels in one cell.")
]
WeightOption = Annotated[
    str | None, typer.Option("--weight", metavar="COL", help="Tables: the column of row weights; none: no weights.")
]
NumbersOption = Annotated[
    str | None,
    typer.Option("--numbers", metavar="COLS", help="Tables: columns of numbers, a,b,c; without text all others."),
]
HeaderOption = Annotated[
    bool | None,
    typer.Option("--header/--no-header", help="CSV and TSV: without a header columns are called 0, 1, 2, ..."),
]
LabelFileOption = Annotated[
    Path | None,
    typer.Option(
        "--label-file", metavar="FILE", help="Formats split and npz: the labels, where not in the usual file."
    ),
]

FeaturesOption = Annotated[
    int | None,
    typer.Option(
        "--features", min=1, help="Text: hashed columns (80,000). svmlight, vw: the width, where test files go beyond."
    ),
]
ValidationOption = Annotated[
    Path | None,
    typer.Option("--validation", metavar="FILE", help="Rows to stop early on, and to choose the estimator on."),
]
ValidationLabelFileOption = Annotated[
    Path | None, typer.Option("--validation-label-file", metavar="FILE", help="The same for validation rows.")
]
LabelNamesOption = Annotated[
    Path | None,
    typer.Option(
        "--label-names", metavar="FILE", help="Formats xmc, split and npz: the name of label i on line i + 1."
    ),
]


def columns(
    text: str | None,
    labels: str | None,
    separator: str | None,
    weight: str | None,
    numbers: str | None,
    header: bool | None,
) -> Columns:
    """The columns that were named."""
    from xmach.data import Columns

    separators = {"\\t": "\t"}  # as it is typed in a shell
    if separator == "":
        raise ParameterError("--label-separator must not be empty; leave it out where a cell is one label")
    return Columns(
        text=names_of(text, "--text"),
        labels=labels,
        features=names_of(numbers, "--numbers"),
        weight=weight,
        label_separator=None if separator is None else separators.get(separator, separator),
        header=header is not False,
    )


def names_of(text: str | None, option: str) -> tuple[str, ...]:
    """`a,b` as names of columns."""
    names = () if text is None else tuple(text.split(","))
    if not all(names):
        raise ParameterError(f"{option} takes names of columns separated by commas, such as title,body; got {text!r}")
    return names
