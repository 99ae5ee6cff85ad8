"""The application: routes, what is checked before the model is asked, and errors as answers."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any, TypeAlias

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import FileResponse, JSONResponse
from starlette.exceptions import HTTPException
from starlette.middleware.cors import CORSMiddleware
from starlette.types import ASGIApp

from xmach.errors import InputError, XmachError
from xmach.serving import messages
from xmach.serving.batching import Busy
from xmach.serving.guard import RETRY_AFTER, Guard
from xmach.serving.metrics import MEDIA_TYPE
from xmach.serving.service import Service
from xmach.version import __version__

_log = logging.getLogger("xmach.serving")
_PAGE = Path(__file__).parent / "page"
_TYPES = {".html": "text/html", ".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}
_CODES = {400: "bad_request", 404: "not_found", 405: "method_not_allowed", 422: "invalid", 503: "busy"}
_Responses: TypeAlias = dict[int | str, dict[str, Any]]
_PROBLEMS: _Responses = {
    status: {"model": messages.ErrorResponse, "description": text}
    for status, text in {
        400: "The caller went away, or the request is no HTTP.",
        401: "A token is needed.",
        405: "Another method.",
        408: "The body came too slowly.",
        413: "The body is too large.",
        415: "The body is not JSON.",
        422: "The request is wrong; the message says where.",
        503: "Too much to do at the moment: come back after Retry-After seconds.",
    }.items()
}


def create_app(service: Service) -> ASGIApp:
    """The whole application of one process, guard included."""

    @asynccontextmanager
    async def running(_: FastAPI) -> AsyncIterator[None]:
        batcher = service.start()
        watching = asyncio.create_task(service.keeper.watch())
        try:
            yield
        finally:
            watching.cancel()
            with suppress(asyncio.CancelledError):
                await watching
            batcher.close()

    app = FastAPI(
        title="xmach",
        version=__version__,
        summary="The best of very many labels.",
        docs_url=None,  # these pages load from elsewhere
        redoc_url=None,
        lifespan=running,
    )
    _add_answers(app, service)
    _add_facts(app, service)
    _add_page(app)
    _add_errors(app)
    guarded = Guard(app, service)
    if not service.settings.origins:
        return guarded
    return CORSMiddleware(
        guarded,
        allow_origins=list(service.settings.origins),
        allow_methods=["GET", "POST"],
        allow_headers=["authorization", "content-type", "x-request-id"],
        expose_headers=["x-request-id", "retry-after"],
    )


def _add_answers(app: FastAPI, service: Service) -> None:
    settings = service.settings

    @app.post("/v1/predict", response_model=messages.PredictResponse, responses=_PROBLEMS)
    async def predict(request: messages.PredictRequest) -> Response:
        """The best labels of each input."""
        _check_size("k", request.k, settings.max_k)
        _check_size("the number of inputs", request.n_inputs, settings.max_inputs)
        for i, text in enumerate(request.texts or ()):
            _check_text(f"texts[{i}]", text, settings.max_text)
        assert service.batcher is not None
        return Response(await service.batcher.submit(request, settings.timeout), media_type="application/json")

    @app.post("/v1/explain", response_model=messages.ExplainResponse, responses=_PROBLEMS)
    async def explain(request: messages.ExplainRequest) -> Response:
        """Why a label has its score: its buckets, the labels it shares them with, the words that drove it."""
        _check_text("text", request.text or "", settings.max_text)
        assert service.batcher is not None
        return Response(await service.batcher.submit(request, settings.timeout), media_type="application/json")


def _check_size(what: str, number: int, most: int) -> None:
    if number > most:
        raise InputError(f"{what} is {number:,}, at most {most:,} are allowed")


def _check_text(what: str, text: str, most: int) -> None:
    if len(text) > most:
        raise InputError(f"{what} has {len(text):,} characters, at most {most:,} are allowed")


def _add_facts(app: FastAPI, service: Service) -> None:
    some: _Responses = {status: _PROBLEMS[status] for status in (401, 405)}

    @app.get("/v1/models", response_model=messages.ModelsResponse, responses=some)
    async def models() -> Response:
        """The model that is served."""
        return JSONResponse({"models": [service.keeper.served.card]})

    @app.get("/healthz", response_model=messages.Status, responses={405: _PROBLEMS[405]})
    async def alive() -> Response:
        """Whether the process is alive."""
        return JSONResponse({"status": "ok"})

    @app.get("/readyz", response_model=messages.Status, responses={405: _PROBLEMS[405], 503: _PROBLEMS[503]})
    async def ready() -> Response:
        """Whether requests should be sent here."""
        if service.draining:
            raise HTTPException(503, "the server is about to end")
        return JSONResponse({"status": "ready"})

    @app.get("/metrics", response_class=Response, responses=some | {200: {"content": {"text/plain": {}}}})
    async def metrics() -> Response:
        """Meters in Prometheus' text format."""
        return Response(service.meters.exposition(), media_type=MEDIA_TYPE)


def _add_page(app: FastAPI) -> None:
    files = {path.name: path for path in _PAGE.iterdir() if path.suffix in _TYPES}
    fresh = {"cache-control": "no-cache"}  # asked each time whether it has changed

    @app.get("/", include_in_schema=False)
    async def page() -> Response:
        return FileResponse(files["index.html"], media_type="text/html", headers=fresh)

    @app.get("/page/{name}", include_in_schema=False)
    async def page_file(name: str) -> Response:
        if name not in files:
            raise HTTPException(404, f"there is no {name!r} here")
        return FileResponse(files[name], media_type=_TYPES[files[name].suffix], headers=fresh)


def _add_errors(app: FastAPI) -> None:
    def answer(request: Request, status: int, message: str, headers: dict[str, str] | None = None) -> Response:
        request_id: str = request.scope["xmach.request_id"]
        body = messages.problem_body(_CODES.get(status, "failed"), message, request_id)
        return JSONResponse(body, status, headers)

    @app.exception_handler(RequestValidationError)
    async def invalid(request: Request, error: RequestValidationError) -> Response:
        return answer(request, 422, "; ".join(_said(each) for each in error.errors()[:5]))

    @app.exception_handler(XmachError)
    async def refused(request: Request, error: XmachError) -> Response:
        return answer(request, 422, " ".join(str(error).split()))

    @app.exception_handler(HTTPException)
    async def other(request: Request, error: HTTPException) -> Response:
        if isinstance(error.__cause__, UnicodeDecodeError):  # FastAPI does not say what was wrong with the body
            return answer(request, 422, f"the body is no JSON: byte {error.__cause__.start} is no UTF-8")
        return answer(request, error.status_code, str(error.detail), dict(error.headers or {}))

    @app.exception_handler(Busy)
    @app.exception_handler(TimeoutError)
    async def busy(request: Request, error: Exception) -> Response:
        what = "the queue is full" if isinstance(error, Busy) else "it took too long"
        return answer(request, 503, f"{what}; try again", {"retry-after": str(RETRY_AFTER)})

    @app.exception_handler(Exception)
    async def failed(request: Request, error: Exception) -> Response:
        _log.error("a request failed", extra={"id": request.scope["xmach.request_id"]}, exc_info=error)
        return answer(request, 500, "something is wrong in the server; its log has more under this request id")


def _said(error: dict[str, Any]) -> str:
    """What pydantic found, in one sentence that names the place."""
    if error["type"] == "json_invalid":
        return f"the body is no JSON: {error['ctx']['error']} at character {error['loc'][-1]}"
    place = ".".join(str(part) for part in error["loc"] if part != "body") or "the body"
    message = str(error["msg"]).removeprefix("Value error, ")
    seen = error.get("input")
    shown = f", got {seen!r}" if isinstance(seen, str | int | float | bool) and len(repr(seen)) <= 60 else ""
    return f"{place}: {message[:1].lower()}{message[1:]}{shown}"
