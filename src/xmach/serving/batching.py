"""Requests that wait are answered together, by one thread: a bounded queue, and a short wait for company."""

from __future__ import annotations

import asyncio
import os
import queue
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, field

from xmach.serving.answering import answer
from xmach.serving.messages import ExplainRequest, PredictRequest
from xmach.serving.metrics import Meters
from xmach.serving.model import Served

_NICE = 5


class Busy(Exception):
    """The queue is full: come back later."""


@dataclass(eq=False)
class _Waiting:
    """A request in the queue, and the future of its answer."""

    request: PredictRequest | ExplainRequest
    future: Future[bytes] = field(default_factory=Future)
    arrived: float = field(default_factory=time.monotonic)


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

    async def submit(self, request: PredictRequest | ExplainRequest, timeout: float) -> bytes:
        """The body of the answer. Raise `Busy` at once if the queue is full, `TimeoutError` if it takes too long."""
        if self._inputs and self._inputs + request.n_inputs > self._limit:
            raise Busy
        waiting = _Waiting(request)
        self._inputs += request.n_inputs
        self._requests += 1
        self._meters.waiting.set(self._inputs)
        self._queue.put(waiting)
        try:
            return await asyncio.wait_for(asyncio.wrap_future(waiting.future), timeout)
        finally:
            self._inputs -= request.n_inputs
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
            batch, held, ended = self._next_batch(first)
            batch = [waiting for waiting in batch if waiting.future.set_running_or_notify_cancel()]
            if batch:
                begun = time.monotonic()
                results: Sequence[bytes | Exception]
                try:
                    results = answer(self._model(), [waiting.request for waiting in batch])
                except Exception as error:  # nobody may wait in vain
                    results = [error] * len(batch)
                self._meters.batch_inputs.observe(sum(waiting.request.n_inputs for waiting in batch))
                self._meters.batch_seconds.observe(time.monotonic() - begun)
                for waiting, result in zip(batch, results, strict=True):
                    if isinstance(result, Exception):
                        waiting.future.set_exception(result)
                    else:
                        waiting.future.set_result(result)
            if ended:
                return

    def _next_batch(self, first: _Waiting) -> tuple[list[_Waiting], _Waiting | None, bool]:
        """The first request with those that came meanwhile or come in time; one that did not fit; whether it is over.

        Nobody waits where no other request is being read. Requests to explain are answered alone.
        """
        batch, size = [first], first.request.n_inputs
        while size < self._size and isinstance(first.request, PredictRequest):
            others = self.active > self._requests
            left = first.arrived + self._wait - time.monotonic() if others else 0.0
            try:
                following = self._queue.get(timeout=left) if left > 0 else self._queue.get_nowait()
            except queue.Empty:
                break
            if following is None:
                return batch, None, True
            explains = isinstance(following.request, ExplainRequest)
            if explains or size + following.request.n_inputs > self._size:
                return batch, following, False
            batch.append(following)
            size += following.request.n_inputs
        return batch, None, False
