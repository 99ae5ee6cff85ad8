"""`xmach serve`: a model folder as an HTTP service with a search page."""

from __future__ import annotations

import sys
from dataclasses import fields
from pathlib import Path
from typing import Annotated, Any

import typer

from xmach.cli.arguments import ModelFolder, NoVerifyOption
from xmach.errors import ParameterError
from xmach.serving.settings import TOKEN_VARIABLE, Settings

_DEFAULT: dict[str, Any] = {field.name: field.default for field in fields(Settings)}


def serve(
    model: ModelFolder,
    host: Annotated[str, typer.Option(help="The address to listen at; 0.0.0.0: all.")] = _DEFAULT["host"],
    port: Annotated[int, typer.Option(help="0: any free one.")] = _DEFAULT["port"],
    workers: Annotated[int, typer.Option(help="Processes; they share the model's pages.")] = _DEFAULT["workers"],
    batch_size: Annotated[int, typer.Option(help="Inputs answered together; 1: none.")] = _DEFAULT["batch_size"],
    batch_wait: Annotated[float, typer.Option(metavar="MS", help="How long the first of them waits for others.")] = 1000
    * _DEFAULT["batch_wait"],
    queue: Annotated[int, typer.Option(help="Inputs that may wait; more are refused (503).")] = _DEFAULT["queue"],
    timeout: Annotated[float, typer.Option(help="Seconds to read a request, and to answer it.")] = _DEFAULT["timeout"],
    drain: Annotated[float, typer.Option(help="Seconds that requests are still taken after SIGTERM.")] = _DEFAULT[
        "drain"
    ],
    max_body: Annotated[int, typer.Option(help="Bytes of a request.")] = _DEFAULT["max_body"],
    max_inputs: Annotated[int, typer.Option(help="Inputs of a request.")] = _DEFAULT["max_inputs"],
    max_text: Annotated[int, typer.Option(help="Characters of a text.")] = _DEFAULT["max_text"],
    watch: Annotated[
        float, typer.Option(help="Seconds between looks for a new model in the folder; 0: none.")
    ] = _DEFAULT["watch"],
    token_file: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="The token that callers must send.", show_default=f"${TOKEN_VARIABLE}"),
    ] = None,
    cors: Annotated[list[str], typer.Option(metavar="ORIGIN", help="Whose pages may call, too.")] = [],  # noqa: B006
    examples: Annotated[Path | None, typer.Option(metavar="FILE", help="Queries to try, one a line.")] = None,
    no_verify: NoVerifyOption = False,
) -> None:
    """Answer requests over HTTP until told to stop, and show a search page at /.

    A new model is taken when the folder, or what a link in its place points to, becomes another one.
    """
    try:
        from xmach.serving.running import serve as run
    except ImportError as error:
        raise ParameterError(f"serving needs more libraries ({error.name}): pip install 'xmach[serve]'") from None
    settings = Settings(
        model, host, port, workers, batch_size, batch_wait / 1000, queue, timeout, drain, max_body, max_inputs,
        max_text, watch=watch, verify=not no_verify, token_file=token_file, origins=tuple(cors), examples=examples,
    )  # fmt: skip
    raise typer.Exit(run(settings, lambda address: print(f"serving {model} at {address}", file=sys.stderr)))
