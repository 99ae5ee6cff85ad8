"""`xmach ask`: the best labels of one query, or why one has its score, from a model folder or a server."""

from __future__ import annotations

import json
import re
import urllib.error
import urllib.request
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from xmach.cli.arguments import EstimatorOption, JsonOption, NoVerifyOption
from xmach.errors import InputError

if TYPE_CHECKING:
    from xmach.predictor import Predictor

_SECONDS = 30


def ask(
    model: Annotated[str, typer.Argument(metavar="DIR_OR_URL", help="A model folder, or a server's address.")],
    query: Annotated[str, typer.Argument(help="The text to find labels for.")],
    k: Annotated[int, typer.Option("--k", help="Labels.")] = 5,
    estimator: EstimatorOption = "auto",
    token_file: Annotated[
        Path | None, typer.Option(metavar="FILE", help="A server's token.", show_default="$XMACH_TOKEN")
    ] = None,
    explain: Annotated[
        str | None, typer.Option(metavar="LABEL", help="Explain this label's score instead of ranking labels.")
    ] = None,
    no_verify: NoVerifyOption = False,
    as_json: JsonOption = False,
) -> None:
    """Print the best labels of a query, best first; or with --explain, why one label has its score."""
    name = None if estimator == "auto" else estimator
    if model.startswith(("http://", "https://")):
        server = _Server(model, token_file)
        result = server.top_k(query, k, name) if explain is None else server.explain(query, explain, name)
    else:
        predictor = _text_predictor(Path(model), not no_verify)
        if explain is None:
            best = predictor.top_k([query], k, estimator=name)
            result = {"labels": best.labels[0].tolist(), "scores": best.scores[0].tolist()}
        else:
            result = asdict(predictor.explain(query, _label(predictor, explain), estimator=name))
    if as_json:
        typer.echo(json.dumps(result, ensure_ascii=False))
    elif explain is not None:
        from xmach.decoding import Explanation

        typer.echo(str(Explanation.from_dict(result)))
    else:
        for rank, (label, score) in enumerate(zip(result["labels"], result["scores"], strict=True), 1):
            typer.echo(f"{rank:4}  {score:10.4g}  {label}")


def _text_predictor(folder: Path, verify: bool) -> Predictor:
    from xmach.store import load

    predictor = load(folder, verify=verify)
    if predictor.text is None:
        raise InputError(f"{folder}: this model was not trained on texts; answer a file of rows with xmach predict")
    return predictor


def _label(predictor: Predictor, spelling: str) -> Any:
    """The label that is spelled so: a name, which may be a number, or an id if labels have no names."""
    import numpy as np

    from xmach.cli.reading import written
    from xmach.data.labels.name_index import NameIndex

    unknown = f"--explain: {spelling!r} is not a label of this model"
    if predictor.label_names is None:
        number, last = _number(spelling), predictor.n_labels - 1
        if number is None or not 0 <= number <= last:
            raise InputError(f"{unknown}: labels are numbers from 0 to {last}")
        return number
    names = predictor.label_names
    found = NameIndex(names, str).find([spelling]) or NameIndex(names, written).find([spelling])  # 1.0, or 1 for it
    if not found:
        raise InputError(unknown)
    return names[np.array([found[spelling]])].tolist()[0]


def _number(spelling: str) -> int | None:
    """The whole number that is spelled so, such as 7, -5 or 1.0; None for any other text."""
    match = re.fullmatch(r"(-?[0-9]{1,18})(\.0)?", spelling)
    return None if match is None else int(match[1])


class _Rejected(InputError):
    """The server was asked for something wrong, such as an unknown label."""


class _Server:
    """A server's answers."""

    def __init__(self, url: str, token_file: Path | None) -> None:
        from xmach.serving.settings import read_token

        self._url, token = url, read_token(token_file)
        self._headers = {"content-type": "application/json"}
        if token is not None:
            self._headers["authorization"] = f"Bearer {token}"

    def top_k(self, query: str, k: int, estimator: str | None) -> dict[str, Any]:
        """The best labels and their scores."""
        result: dict[str, Any] = self._post("predict", {"texts": [query], "k": k}, estimator)["results"][0]
        return result

    def explain(self, query: str, label: str, estimator: str | None) -> dict[str, Any]:
        """Why a label has its score; a label that is not a name may be a number."""
        number, rejected = _number(label), None
        for each in (label,) if number is None else (label, number):
            try:
                result = self._post("explain", {"text": query, "label": each}, estimator)
            except _Rejected as error:
                rejected = error
                continue
            del result["model"]
            return result
        raise InputError(f"--explain: {rejected}")

    def _post(self, path: str, body: dict[str, Any], estimator: str | None) -> dict[str, Any]:
        url, body = self._url, body | ({} if estimator is None else {"estimator": estimator})
        request = urllib.request.Request(f"{url.rstrip('/')}/v1/{path}", json.dumps(body).encode(), self._headers)
        try:
            with urllib.request.urlopen(request, timeout=_SECONDS) as response:
                answer: dict[str, Any] = json.load(response)
                return answer
        except urllib.error.HTTPError as error:
            kind = _Rejected if error.code == 422 else InputError
            raise kind(f"{url}: {error.code}: {_message(error)}") from None
        except (OSError, ValueError) as error:
            reason = getattr(error, "reason", error)
            raise InputError(f"{url}: no answer ({reason}); is xmach serve running there?") from None


def _message(error: urllib.error.HTTPError) -> str:
    """What the server says is wrong."""
    try:
        return str(json.load(error)["error"]["message"])
    except (ValueError, KeyError, TypeError):
        return str(error.reason)
