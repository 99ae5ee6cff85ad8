"""A load on an HTTP server from a process of its own: `python -m benchmarks.load JSON`; prints what it saw as JSON.

Closed loop: a fixed number of callers, each of which asks again when it has its answer. Open loop: requests at a fixed
rate whatever the answers do; a request's time begins when it was due, so a generator that falls behind shows as
slowness, not as less load.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import numpy as np
import uvloop


class Caller(asyncio.Protocol):
    """One connection that is kept; one request at a time."""

    def __init__(self) -> None:
        self._room, self._transport = bytearray(), None
        self._waiting: asyncio.Future[int] | None = None

    def connection_made(self, transport: Any) -> None:
        """Ready."""
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        """Look whether the answer is whole."""
        self._room += data
        head, gap, body = self._room.partition(b"\r\n\r\n")
        if not gap:
            return
        length = int(head.lower().split(b"content-length:")[1].split(b"\r\n")[0])
        if len(body) >= length and self._waiting is not None:
            waiting, self._waiting, self._room = self._waiting, None, bytearray()
            if not waiting.done():
                waiting.set_result(int(head[9:12]))
            if b"connection: close" in head.lower() and self._transport is not None:
                self._transport.close()

    def connection_lost(self, exc: Exception | None) -> None:
        """Nobody is there any more."""
        self._transport = None
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_exception(ConnectionError("closed without an answer"))

    async def ask(self, request: bytes, address: tuple[str, int]) -> int:
        """The status of the answer."""
        loop = asyncio.get_running_loop()
        if self._transport is None or self._transport.is_closing():
            await loop.create_connection(lambda: self, *address)
        assert self._transport is not None
        self._room, self._waiting = bytearray(), loop.create_future()
        self._transport.write(request)
        return await self._waiting


class Tally:
    """Statuses and times."""

    def __init__(self) -> None:
        self.seconds: dict[int, list[float]] = {}
        self.errors: Counter[str] = Counter()

    async def count(self, due: float, answer: Awaitable[int]) -> None:
        """Wait for an answer and note it."""
        try:
            status = await answer
        except OSError as error:
            self.errors[repr(error)] += 1
            return
        self.seconds.setdefault(status, []).append(time.perf_counter() - due)

    def result(self, seconds: float) -> dict[str, Any]:
        """Counts, and times in milliseconds."""
        shown: dict[str, Any] = {"seconds": seconds, "errors": dict(self.errors)}
        for status, each in sorted(self.seconds.items()):
            middle, slow, worst = 1e3 * np.percentile(each, (50, 99, 100))
            shown[str(status)] = {"requests": len(each), "p50": middle, "p99": slow, "worst": worst}
        return shown


async def closed(job: dict[str, Any], requests: Sequence[bytes], address: tuple[str, int]) -> dict[str, Any]:
    """`callers` at a time, for `seconds`."""
    tally, begun = Tally(), time.perf_counter()

    async def one(first: int) -> None:
        caller, i = Caller(), first
        while time.perf_counter() - begun < job["seconds"]:
            await tally.count(time.perf_counter(), caller.ask(requests[i % len(requests)], address))
            i += job["callers"]

    await asyncio.gather(*(one(i) for i in range(job["callers"])))
    return tally.result(time.perf_counter() - begun)


async def opened(job: dict[str, Any], requests: Sequence[bytes], address: tuple[str, int]) -> dict[str, Any]:
    """`rate` a second, for `seconds`; and a probe ten times a second that must be answered, too."""
    tally, probes, idle = Tally(), Tally(), list[Caller]()
    begun, tasks = time.perf_counter(), set[asyncio.Task[None]]()

    async def one(due: float, request: bytes) -> None:
        caller = idle.pop() if idle else Caller()
        await tally.count(due, caller.ask(request, address))
        idle.append(caller)

    async def probe() -> None:
        caller = Caller()
        while time.perf_counter() - begun < job["seconds"]:
            await probes.count(time.perf_counter(), caller.ask(_request("GET", "/healthz"), address))
            await asyncio.sleep(0.1)

    probing = asyncio.create_task(probe())
    for i in range(int(job["rate"] * job["seconds"])):
        due = begun + i / job["rate"]
        if (left := due - time.perf_counter()) > 0:
            await asyncio.sleep(left)
        task = asyncio.create_task(one(due, requests[i % len(requests)]))
        tasks.add(task)
        task.add_done_callback(tasks.discard)
    await asyncio.gather(*tasks)
    await probing
    return tally.result(time.perf_counter() - begun) | {"probes": probes.result(0.0)}


def _request(method: str, path: str, body: bytes = b"") -> bytes:
    head = (
        f"{method} {path} HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body


def main(job_text: str) -> None:
    """Run the load that a job says."""
    job = json.loads(job_text)
    with open(job["texts"], encoding="utf-8") as file:
        texts = file.read().splitlines()
    bodies = (json.dumps({"texts": [text], "k": job.get("k", 10)}).encode() for text in texts)
    requests = [_request("POST", "/v1/predict", body) for body in bodies]
    kinds: dict[str, Callable[..., Any]] = {"closed": closed, "open": opened}
    found = uvloop.run(kinds[job["kind"]](job, requests, ("127.0.0.1", job["port"])))
    print(json.dumps(found))


if __name__ == "__main__":
    main(sys.argv[1])
