"""The options for the texts of labels, and reading them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from xmach.cli.arguments import cache_folder
from xmach.cli.columns import names_of
from xmach.cli.progress import Meter, say
from xmach.errors import ParameterError

if TYPE_CHECKING:
    from xmach.cli.reading import ReadRequest
    from xmach.data import Columns, Dataset, LabelTexts
    from xmach.types import TextRows

LabelTextOption = Annotated[
    Path | None,
    typer.Option("--label-text", metavar="FILE", help="Text: a table of labels and their texts, such as titles."),
]
LabelTextColumnsOption = Annotated[
    str | None,
    typer.Option(
        "--label-text-columns",
        metavar="LABEL,TEXT",
        help="The columns of that table; 0,1 if it has no header.",
        show_default="label,text",
    ),
]


def check_options(text: str | None, file: Path | None, columns: str | None) -> None:
    """Reject texts of labels for rows of numbers, and columns of no table."""
    if file is None and columns is not None:
        raise ParameterError("--label-text-columns names the columns of a table: name its file with --label-text")
    if file is not None and text is None:
        raise ParameterError(
            "--label-text needs rows of text, whose vectorizer it shares; name their column with --text"
        )


def read(
    file: Path, columns: str | None, data: Dataset, text: TextRows | None, request: ReadRequest
) -> tuple[Dataset, LabelTexts]:
    """Read the texts of labels. Return the dataset with labels that have only a text, and the texts."""
    from xmach.data import add_label_texts, read_label_texts

    assert text is not None  # see `check_options`
    cache, wanted = cache_folder(request.cache), columns_of(columns)
    with Meter(f"reading {file.name}", "B") as meter:
        texts = read_label_texts(
            file, text, columns=wanted, on_error=request.on_error, cache=cache, on_progress=meter.update
        )
    for reason, count in texts.skipped.items():
        say(f"{file}: skipped {count} row{'s' if count != 1 else ''}: {reason}")
    joined, found = add_label_texts(data, texts, cache)
    new, empty = joined.n_labels - data.n_labels, texts.n_rows - len(found.ids)
    without = f"; {empty:,} texts have no word, so their labels have no text" if empty else ""
    say(f"{file}: texts of {len(found.ids):,} labels, of which {new:,} are in no row{without}")
    return joined, found


def columns_of(given: str | None) -> Columns:
    """`product,title` as the columns of labels and of texts; whole numbers are columns of a table without a header."""
    from xmach.data import Columns
    from xmach.data.read.label_texts import LABEL_TEXT_COLUMNS

    if given is None:
        return LABEL_TEXT_COLUMNS
    names = names_of(given, "--label-text-columns")
    if len(names) < 2:
        raise ParameterError(
            f"--label-text-columns takes the column of the labels and that of the texts, such as product,title; got "
            f"{given!r}"
        )
    return Columns(text=names[1:], labels=names[0], header=not all(name.isdecimal() for name in names))
