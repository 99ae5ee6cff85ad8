"""`xmach check`: what is in a data file, and what is wrong with it."""

from __future__ import annotations

import json

import typer

from xmach.cli import columns as table
from xmach.cli.arguments import DataFile, FormatOption, JsonOption


def check(
    file: DataFile,
    format: FormatOption = "auto",
    text: table.TextOption = None,
    labels: table.LabelsOption = None,
    label_separator: table.SeparatorOption = None,
    weight: table.WeightOption = None,
    numbers: table.NumbersOption = None,
    header: table.HeaderOption = None,
    label_file: table.LabelFileOption = None,
    as_json: JsonOption = False,
) -> None:
    """Say what a data file holds and every fault with its line; exit with 2 where there are faults."""
    from xmach.data import ReadOptions, check_file
    from xmach.features import HashedText

    named = table.columns(text, labels, label_separator, weight, numbers, header)
    options = ReadOptions(columns=named, text=HashedText() if text else None, label_file=label_file)
    report = check_file(file, format, options)
    typer.echo(json.dumps(report.to_dict()) if as_json else "\n".join(report.lines()))
    if not report.ok:
        raise typer.Exit(2)
