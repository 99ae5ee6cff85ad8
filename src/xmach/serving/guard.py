"""What stands before the application: request ids, limits, tokens, refusals, headers and the log.

Written against ASGI itself, not as a Starlette middleware: what is refused here costs little, and its body is not read.
"""

from __future__ import annotations

import asyncio
import hmac
import json
import logging
import re
import time
import uuid
from dataclasses import dataclass, field

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from xmach.serving.messages import problem_body
from xmach.serving.service import ASKED, Service

_log = logging.getLogger("xmach.serving")
_REQUEST_ID = re.compile(r"[A-Za-z0-9._-]{1,64}")
_OPEN = ("/", "/healthz", "/readyz", "/openapi.json")  # need no token
_QUIET = ("/healthz", "/readyz", "/metrics")  # asked all the time: not logged
_PATHS = (*ASKED, "/v1/models", *_OPEN, "/metrics")  # told apart by the meters
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_HEADERS = [
    (b"content-security-policy", _POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
]
ADMITTED = "xmach.admitted"  # in a scope: the request was admitted before it came here
BUSY = "the server has as much to do as it takes on; try again"
RETRY_AFTER = 1  # seconds
_A_ROUND = 8  # requests that begin in a round of the event loop: about two milliseconds
_SMALL_BODY = 2**14  # bytes that come with the head, or right after it


@dataclass
class _Refusal(Exception):
    """A request that gets no further."""

    status: int
    code: str
    message: str
    headers: list[tuple[bytes, bytes]] = field(default_factory=list)


class Guard:
    """The outermost layer."""

    def __init__(self, app: ASGIApp, service: Service) -> None:
        self._app, self._service = app, service
        token = service.settings.token()
        self._authorization = None if token is None else f"Bearer {token}".encode()
        self._started = 0  # requests in this round of the event loop

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer or refuse a request, and tell about it."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        begun, headers = time.monotonic(), dict(scope["headers"])
        request_id = _request_id(headers)
        scope["xmach.request_id"] = request_id
        status = 0

        async def send_on(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                extra = [(b"x-request-id", request_id.encode()), *_HEADERS]
                if self._service.draining:
                    extra.append((b"connection", b"close"))
                message = {**message, "headers": [*message.get("headers", []), *extra]}
            await send(message)

        admitted = scope.get(ADMITTED, False)
        try:
            self._check(scope, headers)
            if scope["path"] in ASKED and not admitted:
                admitted = self._service.admit()
                if not admitted:
                    raise _Refusal(503, "busy", BUSY, [(b"retry-after", str(RETRY_AFTER).encode())])
            receive_again = await self._body(headers, receive)
            await self._turn()
            await self._app(scope, receive_again, send_on)
        except _Refusal as refusal:
            await _answer(refusal, request_id, send_on, close=is_long(headers))
        finally:
            if admitted:
                self._service.release()
            self._tell(scope, status, time.monotonic() - begun, request_id)

    async def _turn(self) -> None:
        """Wait for the next round of the event loop where this one has begun enough: between rounds sockets are read.

        A hundred requests that arrive at once would otherwise be parsed in one go, and what is refused meanwhile waits.
        """
        while self._started >= _A_ROUND:
            await asyncio.sleep(0)
        if self._started == 0:
            asyncio.get_running_loop().call_soon(self._new_round)
        self._started += 1

    def _new_round(self) -> None:
        self._started = 0

    def _check(self, scope: Scope, headers: dict[bytes, bytes]) -> None:
        """Reject a request if its head is enough to do so."""
        path: str = scope["path"]
        if path not in _OPEN and not path.startswith("/page/"):
            self._authorize(headers)
        if scope["method"] != "POST" or path not in ASKED:
            return
        kind = headers.get(b"content-type", b"").split(b";")[0].strip().lower()
        if kind != b"application/json":
            raise _Refusal(415, "unsupported_media_type", "send JSON, with Content-Type: application/json")

    def _authorize(self, headers: dict[bytes, bytes]) -> None:
        """Compare in a time that tells nothing of where they differ."""
        if self._authorization is None:
            return
        if not hmac.compare_digest(headers.get(b"authorization", b""), self._authorization):
            raise _Refusal(
                401,
                "unauthorized",
                "a token is needed: Authorization: Bearer TOKEN",
                [(b"www-authenticate", b"Bearer")],
            )

    async def _body(self, headers: dict[bytes, bytes], receive: Receive) -> Receive:
        """Read the whole body within the limits of size and time. Return a `receive` that begins with it."""
        most = self._service.settings.max_body
        too_large = _Refusal(413, "body_too_large", f"a body has at most {most:,} bytes")
        length = headers.get(b"content-length", b"0")
        if length.isdigit() and int(length) > most:
            raise too_large
        parts, size = [], 0
        try:
            async with asyncio.timeout(self._service.settings.timeout):
                while True:
                    message = await receive()
                    if message["type"] == "http.disconnect":
                        raise _Refusal(400, "disconnected", "the caller has gone")
                    parts.append(message.get("body", b""))
                    size += len(parts[-1])
                    if size > most:
                        raise too_large
                    if not message.get("more_body", False):
                        break
        except TimeoutError:
            seconds = self._service.settings.timeout
            late = f"the body did not come within {seconds:g} s"
            raise _Refusal(408, "too_slow", late, [(b"connection", b"close")]) from None
        unread: list[Message] = [{"type": "http.request", "body": b"".join(parts), "more_body": False}]

        async def receive_again() -> Message:
            return unread.pop() if unread else await receive()

        return receive_again

    def _tell(self, scope: Scope, status: int, seconds: float, request_id: str) -> None:
        path = scope["path"]
        known = path if path in _PATHS else "/page" if path.startswith("/page/") else "other"
        self._service.meters.requests.labels(known, str(status)).inc()
        self._service.meters.seconds.labels(known).observe(seconds)
        if known not in _QUIET and not known.startswith("/page"):
            facts = {"id": request_id, "method": scope["method"], "path": known, "status": status}
            _log.info("request", extra={**facts, "ms": round(1000 * seconds, 2)})


def _request_id(headers: dict[bytes, bytes]) -> str:
    """The caller's own, where it is a decent one; otherwise a new one."""
    given = headers.get(b"x-request-id", b"").decode("latin-1")
    return given if _REQUEST_ID.fullmatch(given) else uuid.uuid4().hex


def is_long(headers: dict[bytes, bytes]) -> bool:
    """Whether a body may not be here yet: unread, it would stand in the way of the connection's next request."""
    length = headers.get(b"content-length", b"0")
    return b"transfer-encoding" in headers or not length.isdigit() or int(length) > _SMALL_BODY


async def _answer(refusal: _Refusal, request_id: str, send: Send, close: bool) -> None:
    body = json.dumps(problem_body(refusal.code, refusal.message, request_id)).encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode()), *refusal.headers]
    headers += [(b"connection", b"close")] if close else []
    await send({"type": "http.response.start", "status": refusal.status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
