"""Arguments that several commands take, and how their text is read."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, Literal

import typer

from xmach.errors import ParameterError
from xmach.parameters import MOST_REPETITIONS

Format = Literal["auto", "xmc", "svmlight", "vw", "split", "npz", "csv", "tsv", "jsonl", "parquet"]
EstimatorName = Literal["auto", "mean", "min", "median", "log"]

ModelFolder = Annotated[Path, typer.Argument(metavar="DIR", help="A model folder.", show_default=False)]
DataFile = Annotated[Path, typer.Argument(metavar="FILE", help="A data file, gzip'd or not.", show_default=False)]

FormatOption = Annotated[Format, typer.Option("--format", help="The file's format.")]
OnErrorOption = Annotated[
    Literal["stop", "skip"], typer.Option("--on-error", help="Stop at a bad row, or skip and count it.")
]
CacheOption = Annotated[
    Path | None,
    typer.Option("--cache", help="Where data files are kept once read.", show_default="$XMACH_CACHE or ~/.cache/xmach"),
]
MemoryOption = Annotated[
    str | None, typer.Option("--memory", metavar="SIZE", help="The memory to keep within, such as 4GB.")
]
EstimatorOption = Annotated[EstimatorName, typer.Option("--estimator", help="auto: the model's own.")]
JsonOption = Annotated[bool, typer.Option("--json", help="One JSON object on stdout.")]
PartialOption = Annotated[bool, typer.Option("--allow-partial", help="Answer even if repetitions are missing.")]
CandidatesOption = Annotated[
    Path | None,
    typer.Option("--candidates", metavar="FILE", help="Answer with these labels only: names or ids, one a line."),
]
MergeOption = Annotated[
    bool, typer.Option("--merge", help="Rows of equal features are one row: weights and label counts add up.")
]
ShareOption = Annotated[
    str | None, typer.Option("--only-ranker", metavar="I/N", help="Train share I of N of the ranker only, such as 1/4.")
]
NoVerifyOption = Annotated[bool, typer.Option("--no-verify", help="Do not check the model's checksums first.")]


def cache_folder(given: Path | None) -> Path:
    """The folder that holds data files once read."""
    if given is not None:
        return given
    home = os.environ.get("XMACH_CACHE")
    return Path(home) if home else Path.home() / ".cache" / "xmach"


def whole_numbers(text: str, what: str, such_as: str = "1,3,5") -> tuple[int, ...]:
    """`1,3,5` as numbers."""
    try:
        return tuple(int(part) for part in text.split(","))
    except ValueError:
        raise ParameterError(
            f"{what} takes whole numbers separated by commas, such as {such_as}; got {text!r}"
        ) from None


def share(text: str | None) -> tuple[int, int] | None:
    """`1/4` as the first of four shares; None if nothing is given."""
    if text is None:
        return None
    number, _, total = text.strip().partition("/")
    if not (number.isdecimal() and total.isdecimal() and 1 <= int(number) <= int(total)):
        raise ParameterError(f"--only-ranker takes a share such as 1/4, and for four shares up to 4/4; got {text!r}")
    return int(number), int(total)


def repetitions(text: str | None) -> list[int] | None:
    """`0-7,12` as repetitions; None, which means all of them, if nothing is given."""
    if text is None:
        return None
    chosen: set[int] = set()
    for part in text.split(","):
        first, dash, last = part.strip().partition("-")
        if not first.isdecimal() or (dash and not last.isdecimal()):
            raise ParameterError(f"--only takes repetitions such as 0-7 or 0-3,12; got {text!r}")
        low, high = int(first), int(last if dash else first)
        if not low <= high < MOST_REPETITIONS:
            raise ParameterError(f"--only takes repetitions from 0 to {MOST_REPETITIONS - 1}, in order; got {text!r}")
        chosen.update(range(low, high + 1))
    return sorted(chosen)
