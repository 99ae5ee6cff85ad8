"""`xmach ask`: the best labels of one query, from a model folder or a server, on the terminal."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from pathlib import Path
from typing import Annotated, Any

import typer

from xmach.cli.arguments import EstimatorOption, JsonOption, NoVerifyOption
from xmach.errors import InputError

_SECONDS = 30


def ask(
    model: Annotated[str, typer.Argument(metavar="DIR_OR_URL", help="A model folder, or a server's address.")],
    query: Annotated[str, typer.Argument(help="The text to find labels for.")],
    k: Annotated[int, typer.Option("--k", help="Labels.")] = 5,
    estimator: EstimatorOption = "auto",
    token_file: Annotated[
        Path | None, typer.Option(metavar="FILE", help="A server's token.", show_default="$XMACH_TOKEN")
    ] = None,
    no_verify: NoVerifyOption = False,
    as_json: JsonOption = False,
) -> None:
    """Print the best labels of a query, best first."""
    name = None if estimator == "auto" else estimator
    if model.startswith(("http://", "https://")):
        result = _from_server(model, query, k, name, token_file)
    else:
        result = _from_folder(Path(model), query, k, name, not no_verify)
    if as_json:
        typer.echo(json.dumps(result, ensure_ascii=False))
        return
    for rank, (label, score) in enumerate(zip(result["labels"], result["scores"], strict=True), 1):
        typer.echo(f"{rank:4}  {score:10.4g}  {label}")


def _from_folder(folder: Path, query: str, k: int, estimator: str | None, verify: bool) -> dict[str, Any]:
    from xmach.store import load

    predictor = load(folder, verify=verify)
    if predictor.text is None:
        raise InputError(f"{folder}: this model was not trained on texts; answer a file of rows with xmach predict")
    best = predictor.top_k([query], k, estimator=estimator)
    return {"labels": best.labels[0].tolist(), "scores": best.scores[0].tolist()}


def _from_server(url: str, query: str, k: int, estimator: str | None, token_file: Path | None) -> dict[str, Any]:
    from xmach.serving.settings import read_token

    headers = {"content-type": "application/json"}
    token = read_token(token_file)
    if token is not None:
        headers["authorization"] = f"Bearer {token}"
    body = {"texts": [query], "k": k} | ({} if estimator is None else {"estimator": estimator})
    request = urllib.request.Request(f"{url.rstrip('/')}/v1/predict", json.dumps(body).encode(), headers)
    try:
        with urllib.request.urlopen(request, timeout=_SECONDS) as response:
            answer: dict[str, Any] = json.load(response)
    except urllib.error.HTTPError as error:
        raise InputError(f"{url}: {error.code}: {_message(error)}") from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "reason", error)
        raise InputError(f"{url}: no answer ({reason}); is xmach serve running there?") from None
    result: dict[str, Any] = answer["results"][0]
    return result


def _message(error: urllib.error.HTTPError) -> str:
    """What the server says is wrong."""
    try:
        return str(json.load(error)["error"]["message"])
    except (ValueError, KeyError, TypeError):
        return str(error.reason)
