"""A subclass of uvicorn's HTTP protocol: the only file that depends on uvicorn's internals.

It is needed for three things that an ASGI application cannot do, because it is called once the head has been parsed:

- reject a request by its head alone when the queue is full. With five times more requests than can be answered, most
  are rejected, and rejecting competes with answering for the interpreter: 20 microseconds here, 200 in the application;
- close a connection whose head does not arrive in time;
- keep reading for a moment after an early rejection, so that a caller who is still sending gets to see the response.

`HttpToolsProtocol` is not a documented interface. `pyproject.toml` pins the uvicorn versions this file was tested with;
`tests/serving/test_running.py` exercises all of it. Before widening the range, run those tests with the new version.
"""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import Callable
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from xmach.serving.guard import ADMITTED, BUSY, RETRY_AFTER, is_long
from xmach.serving.messages import problem_body
from xmach.serving.service import ASKED, Service

_SLOW_HEAD = b"HTTP/1.1 408 Request Timeout\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"
_ASKED = tuple(path.encode() for path in ASKED)
_ID = "0" * 32  # the place of a request id
_BODY = json.dumps(problem_body("busy", BUSY, _ID))
_HEAD = (
    f"HTTP/1.1 503 Service Unavailable\r\ncontent-type: application/json\r\ncontent-length: {len(_BODY)}\r\n"
    f"retry-after: {RETRY_AFTER}\r\nx-request-id: {_ID}\r\n"
)
_REFUSED = {False: f"{_HEAD}\r\n{_BODY}", True: f"{_HEAD}connection: close\r\n\r\n{_BODY}"}


_LINGER = 2.0  # seconds for which a caller that was refused may go on sending
_LINGER_BYTES = 2**25


class _Transport:
    """A transport that, closed while its caller is still sending, goes on reading for a moment.

    The system answers what comes to a closed socket with a reset. That ends the caller's sending with an error, and can
    throw away the answer that it was about to read.
    """

    def __init__(self, transport: asyncio.Transport, is_sending: Callable[[], bool]) -> None:
        self._transport, self._is_sending = transport, is_sending
        self._left = _LINGER_BYTES
        self.lingers = False
        self.write = transport.write

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)

    def is_closing(self) -> bool:
        """Whether nothing is to be written any more."""
        return self.lingers or self._transport.is_closing()

    def close(self) -> None:
        """Close, or say that all was said and listen a little longer."""
        if self.is_closing():
            return
        if not self._is_sending():
            self._transport.close()
            return
        self.lingers = True
        self._transport.write_eof()
        self._transport.resume_reading()
        asyncio.get_running_loop().call_later(_LINGER, self._transport.close)

    def discard(self, size: int) -> None:
        """So many bytes came that nobody wants."""
        self._left -= size
        if self._left < 0:
            self._transport.close()


class Connection(HttpToolsProtocol):
    """One connection to a service."""

    service: Service  # of the class: `connections_to`
    _timer: asyncio.TimerHandle | None = None
    _passed_over = False  # the request that is being read was refused
    _in_request = False  # its end has not come yet

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """A caller: wait for its head."""
        self._lingering = _Transport(transport, lambda: self._in_request)
        super().connection_made(self._lingering)  # type: ignore[arg-type]
        self._timer = self.loop.call_later(self.service.settings.timeout, self._too_slow)

    def data_received(self, data: bytes) -> None:
        """Something came."""
        if self._lingering.lingers:
            self._lingering.discard(len(data))
        else:
            super().data_received(data)

    def on_message_begin(self) -> None:
        """The first byte of a request."""
        self._in_request = True
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        """The head is here: go on, or refuse."""
        self._stop_waiting()
        self._passed_over = False
        if self.url.partition(b"?")[0] in _ASKED and (self.cycle is None or self.cycle.response_complete):
            if not self.service.admit():
                self._refuse()
                return
            self.scope[ADMITTED] = True  # type: ignore[literal-required]
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        """A part of the body, which nobody wants of a refused request."""
        if not self._passed_over:
            super().on_body(body)

    def on_message_complete(self) -> None:
        """The end of a request."""
        self._in_request = False
        if not self._passed_over:
            super().on_message_complete()

    def connection_lost(self, exc: Exception | None) -> None:
        """The caller has gone."""
        self._stop_waiting()
        super().connection_lost(exc)

    def _refuse(self) -> None:
        """Say that there is too much to do."""
        self._passed_over = True
        self.service.meters.requests.labels("refused unread", "503").inc()
        close = is_long(dict(self.headers)) or self.service.draining or not self.parser.should_keep_alive()
        self.transport.write(_REFUSED[close].replace(_ID, f"{random.getrandbits(128):032x}").encode())
        if close:
            self.transport.close()
        else:
            self.timeout_keep_alive_task = self.loop.call_later(
                self.timeout_keep_alive, self.timeout_keep_alive_handler
            )

    def _stop_waiting(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _too_slow(self) -> None:
        self._timer = None
        if not self.transport.is_closing():
            self.transport.write(_SLOW_HEAD)
            self.transport.close()


def connections_to(service: Service) -> type[Connection]:
    """The class of a service's connections: uvicorn makes them itself, and is given a class."""
    return type("ServiceConnection", (Connection,), {"service": service})
