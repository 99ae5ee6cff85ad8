"""`xmach check`: what is in a data file, and what is wrong with it."""

from __future__ import annotations

import json

import typer

from xmach.cli.arguments import DataFile, FormatOption, JsonOption
from xmach.cli.choices import Format


def check(file: DataFile, format: FormatOption = Format.auto, as_json: JsonOption = False) -> None:
    """Say what a data file holds and every fault with its line; exit with 2 where there are faults."""
    from xmach.data import check_file

    report = check_file(file, format.value)
    typer.echo(json.dumps(report.to_dict()) if as_json else "\n".join(report.lines()))
    if not report.ok:
        raise typer.Exit(2)
