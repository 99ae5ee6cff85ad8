"""`xmach predict`: the k best labels of every row of a data file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from xmach.block_sizes import ANSWER_ROWS
from xmach.cli import columns as table
from xmach.cli.arguments import (
    CacheOption,
    CandidatesOption,
    DataFile,
    EstimatorOption,
    FormatOption,
    ModelFolder,
    NoVerifyOption,
    OnErrorOption,
    PartialOption,
)
from xmach.cli.progress import Meter, say
from xmach.errors import ParameterError


def predict(
    model: ModelFolder,
    file: DataFile,
    k: Annotated[int, typer.Option("--k", help="Answers a row.")] = 10,
    out: Annotated[Path | None, typer.Option(metavar="FILE", help="Where answers go, instead of stdout.")] = None,
    estimator: EstimatorOption = "auto",
    include_unseen: Annotated[bool, typer.Option(help="Rank labels that had no training row like the others.")] = False,
    candidates: CandidatesOption = None,
    format: FormatOption = "auto",
    text: table.TextOption = None,
    numbers: table.NumbersOption = None,
    header: table.HeaderOption = None,
    on_error: OnErrorOption = "stop",
    allow_partial: PartialOption = False,
    no_verify: NoVerifyOption = False,
    cache: CacheOption = None,
) -> None:
    """Write JSON lines, {"row": 0, "labels": [...], "scores": [...]}, or Parquet where --out ends with .parquet."""
    from xmach.cli.candidates import read_candidates
    from xmach.cli.reading import ExpectedSchema, ReadRequest, read
    from xmach.data.write.predictions import open_answers
    from xmach.store import ModelStore, load
    from xmach.types import check_k, row_batches, slice_rows

    check_k(k)
    predictor = load(model, verify=not no_verify, allow_partial=allow_partial)
    if out is not None and out.exists() and out.samefile(file):
        raise ParameterError(f"--out: {out} is the file to be answered; choose another")
    request = ReadRequest(format, on_error, cache, table.columns(text, None, None, None, numbers, header), header)
    data = read(file, request, ExpectedSchema.of_model(ModelStore(model), with_labels=False), with_labels=False)
    name = None if estimator == "auto" else estimator
    # made ready once for all rows
    prepared = (
        None
        if candidates is None
        else predictor.decoder.prepare_candidates(read_candidates(candidates, predictor), data.n_rows)
    )
    expected = ModelStore(model).plan().hashes.n_repetitions
    if len(predictor.models) < expected:
        say(f"{len(predictor.models)} of {expected} repetitions answer: the model is partial")
    with open_answers(out) as answers, Meter("predicting", "rows") as meter:
        for start, stop in row_batches(data.n_rows, ANSWER_ROWS):
            rows = slice_rows(data.features, start, stop)
            which = range(start, stop) if data.row_numbers is None else data.row_numbers[start:stop]
            best = predictor.top_k(rows, k, estimator=name, include_unseen=include_unseen, candidates=prepared)
            answers.write(which, best)
            data.let_go()
            meter.update(stop, data.n_rows)
