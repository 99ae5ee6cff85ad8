"""Requests that wait are answered together, by one thread: a bounded queue, and a short wait for company."""

from __future__ import annotations

import asyncio
import os
import queue
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from xmach.errors import XmachError
from xmach.serving.answering import Ask, answer
from xmach.serving.explaining import Why, explain
from xmach.serving.metrics import Meters
from xmach.serving.model import Served

_NICE = 5


class Busy(Exception):
    """The queue is full: come back later."""


@dataclass(eq=False)
class _Waiting:
    """A request in the queue, and where its answer goes."""

    ask: Ask | Why
    future: asyncio.Future[bytes]
    loop: asyncio.AbstractEventLoop
    arrived: float = field(default_factory=time.monotonic)

    def gone(self) -> bool:
        """Whether nobody waits any more."""
        return self.future.done()

    def deliver(self, result: bytes | Exception) -> None:
        """Hand over an answer; in the loop's thread."""
        if not self.future.done():
            if isinstance(result, Exception):
                self.future.set_exception(result)
            else:
                self.future.set_result(result)


class Batcher:
    """Answers requests in the order they came, as many at a time as a batch holds."""

    def __init__(
        self,
        model: Callable[[], Served],
        meters: Meters,
        batch_size: int = 32,
        batch_wait: float = 0.001,
        limit: int = 128,
    ) -> None:
        self._model, self._meters = model, meters
        self._size, self._wait, self._limit = batch_size, batch_wait, limit
        self.active = 0  # requests that are being read, wait or are answered; whoever reads them counts them
        self._queue: queue.SimpleQueue[_Waiting | None] = queue.SimpleQueue()
        self._inputs = self._requests = 0  # that wait or are being answered; only the loop's thread changes them
        self._thread = threading.Thread(target=self._run, name="xmach-answers", daemon=True)
        self._thread.start()

    async def ask(self, ask: Ask | Why, timeout: float) -> bytes:
        """The body of the answer; `Busy` at once when the queue is full, `TimeoutError` when it takes too long."""
        if self._inputs and self._inputs + len(ask) > self._limit:
            raise Busy
        loop = asyncio.get_running_loop()
        waiting = _Waiting(ask, loop.create_future(), loop)
        self._inputs += len(ask)
        self._requests += 1
        self._meters.waiting.set(self._inputs)
        self._queue.put(waiting)
        try:
            return await asyncio.wait_for(waiting.future, timeout)
        finally:
            self._inputs -= len(ask)
            self._requests -= 1
            self._meters.waiting.set(self._inputs)

    def close(self) -> None:
        """Answer what is waiting, then end the thread."""
        self._queue.put(None)
        self._thread.join()

    def _run(self) -> None:
        """Batch after batch, until told to end."""
        with suppress(OSError):  # where threads have priorities of their own: requests are taken and refused first
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), _NICE)
        held: _Waiting | None = None
        while (first := held or self._queue.get()) is not None:
            batch, held, ended = self._company(first)
            self._answer([waiting for waiting in batch if not waiting.gone()])
            if ended:
                return

    def _company(self, first: _Waiting) -> tuple[list[_Waiting], _Waiting | None, bool]:
        """The first request with those that came meanwhile or come in time; one that did not fit; whether it is over.

        Nobody waits where no other request is being read. Requests to explain are answered alone.
        """
        batch, size = [first], len(first.ask)
        while size < self._size and isinstance(first.ask, Ask):
            others = self.active > self._requests
            left = first.arrived + self._wait - time.monotonic() if others else 0.0
            try:
                following = self._queue.get(timeout=left) if left > 0 else self._queue.get_nowait()
            except queue.Empty:
                break
            if following is None:
                return batch, None, True
            if isinstance(following.ask, Why) or size + len(following.ask) > self._size:
                return batch, following, False
            batch.append(following)
            size += len(following.ask)
        return batch, None, False

    def _answer(self, batch: Sequence[_Waiting]) -> None:
        if not batch:
            return
        begun, served = time.monotonic(), self._model()
        results: Sequence[bytes | Exception]
        try:
            results = self._results(served, [waiting.ask for waiting in batch])
        except Exception as error:  # nobody may wait in vain
            results = [error] * len(batch)
        self._meters.batch_inputs.observe(sum(len(waiting.ask) for waiting in batch))
        self._meters.batch_seconds.observe(time.monotonic() - begun)
        batch[0].loop.call_soon_threadsafe(_deliver, batch, results)

    def _results(self, served: Served, asks: Sequence[Ask | Why]) -> Sequence[bytes | Exception]:
        if isinstance(asks[0], Why):
            try:
                return [explain(served, asks[0])]
            except XmachError as error:
                return [error]
        return answer(served, [ask for ask in asks if isinstance(ask, Ask)])


def _deliver(batch: Sequence[_Waiting], results: Sequence[bytes | Exception]) -> None:
    for waiting, result in zip(batch, results, strict=True):
        waiting.deliver(result)
