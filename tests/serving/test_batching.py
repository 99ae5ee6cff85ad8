"""Requests in company: the same answers, in time, or a refusal at once."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections.abc import Awaitable, Iterator
from typing import Any

import numpy as np
import pytest
from tests.serving.conftest import PRODUCTS

from xmach.serving import batching
from xmach.serving.answering import answer
from xmach.serving.batching import Batcher, Busy
from xmach.serving.messages import ExplainRequest, PredictRequest, RowMessage
from xmach.serving.metrics import Meters
from xmach.serving.model import Served


def asks_of_all_kinds() -> list[PredictRequest]:
    draw = np.random.default_rng(0)
    asks = []
    for i in range(60):
        texts = [" ".join(draw.choice(PRODUCTS, 2)) for _ in range(int(draw.integers(1, 5)))]
        wishes: dict[str, Any] = {"k": int(draw.choice([1, 3, 10])), "estimator": [None, "mean", "min"][i % 3]}
        if i % 5 == 0:
            wishes |= {"candidates": PRODUCTS[:7], "explain": True}
        if i % 7 == 0:
            wishes |= {"exclude": PRODUCTS[3:9], "probabilities": True}
        rows = [RowMessage(indices=[int(draw.integers(0, 1000))], values=[1.5])]
        asks.append(PredictRequest(rows=rows, **wishes) if i % 11 == 0 else PredictRequest(texts=texts, **wishes))
    return asks


def test_answers_in_a_batch_are_those_of_each_alone_to_the_last_bit(served: Served) -> None:
    asks = asks_of_all_kinds()
    assert answer(served, asks) == [answer(served, [ask])[0] for ask in asks]
    order = np.random.default_rng(1).permutation(len(asks))
    assert answer(served, [asks[i] for i in order]) == [answer(served, asks)[i] for i in order]


class Held:
    """A model that is handed out only when it is let go."""

    def __init__(self, served: Served) -> None:
        self._served, self._go = served, threading.Event()

    def __call__(self) -> Served:
        assert self._go.wait(30)
        return self._served

    def let_go(self) -> None:
        self._go.set()


@pytest.fixture
def held(served: Served) -> Iterator[Held]:
    model = Held(served)
    yield model
    model.let_go()


def run(work: Awaitable[Any]) -> Any:
    async def bounded() -> Any:
        return await asyncio.wait_for(work, 60)

    return asyncio.run(bounded())


def test_those_who_wait_are_answered_together(served: Served, held: Held) -> None:
    meters = Meters()
    batcher = Batcher(held, meters, batch_size=8, batch_wait=0.0, limit=100)

    async def work() -> list[bytes]:
        tasks = [asyncio.create_task(batcher.submit(PredictRequest(texts=[product]), 30)) for product in PRODUCTS[:20]]
        await asyncio.sleep(0.2)  # the first is on its way, the others wait
        held.let_go()
        return await asyncio.gather(*tasks)

    bodies = run(work())
    batcher.close()
    for product, body in zip(PRODUCTS[:20], bodies, strict=True):
        assert body == answer(served, [PredictRequest(texts=[product])])[0]
    told = meters.exposition().decode()
    assert "xmach_batch_inputs_sum 20.0" in told
    batches = float(next(line.split()[1] for line in told.splitlines() if line.startswith("xmach_batch_inputs_count")))
    assert 3 <= batches <= 5
    assert "xmach_inputs_waiting 0.0" in told


def test_a_full_queue_refuses_at_once_and_takes_again_later(held: Held) -> None:
    batcher = Batcher(held, Meters(), limit=3)

    async def work() -> None:
        taken = [asyncio.create_task(batcher.submit(PredictRequest(texts=["red lamp"]), 30)) for _ in range(3)]
        await asyncio.sleep(0)
        begun = time.monotonic()
        with pytest.raises(Busy):
            await batcher.submit(PredictRequest(texts=["blue lamp"]), 30)
        assert time.monotonic() - begun < 5  # it did not wait for the model, which is held
        held.let_go()
        await asyncio.gather(*taken)
        assert json.loads(await batcher.submit(PredictRequest(texts=["blue lamp"]), 30))["results"]

    run(work())
    batcher.close()


def test_a_request_larger_than_the_queue_is_taken_when_nobody_waits(served: Served) -> None:
    batcher = Batcher(lambda: served, Meters(), batch_size=4, limit=5)
    body = run(batcher.submit(PredictRequest(texts=PRODUCTS[:40]), 30))
    batcher.close()
    assert body == answer(served, [PredictRequest(texts=PRODUCTS[:40])])[0]


def test_who_does_not_wait_any_longer_is_not_answered(served: Served, held: Held) -> None:
    batcher = Batcher(held, Meters(), batch_size=1)

    async def work() -> bytes:
        first = asyncio.create_task(batcher.submit(PredictRequest(texts=["red lamp"]), 30))
        await asyncio.sleep(0.1)
        with pytest.raises(TimeoutError):
            await batcher.submit(PredictRequest(texts=["blue lamp"]), 0.05)
        held.let_go()
        return await first

    assert run(work()) == answer(served, [PredictRequest(texts=["red lamp"])])[0]
    batcher.close()


def test_a_fault_reaches_everyone_in_the_batch_and_the_next_is_answered(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    batcher = Batcher(lambda: served, Meters())

    def broken(*_: Any) -> list[bytes]:
        raise RuntimeError("bang")

    async def work() -> None:
        with monkeypatch.context() as patch:
            patch.setattr(batching, "answer", broken)
            with pytest.raises(RuntimeError, match="bang"):
                await batcher.submit(PredictRequest(texts=["a"]), 30)
        assert await batcher.submit(PredictRequest(texts=["a"]), 30) == answer(served, [PredictRequest(texts=["a"])])[0]

    run(work())
    batcher.close()


def test_explaining_stands_in_the_same_queue(served: Served, held: Held) -> None:
    batcher = Batcher(held, Meters(), batch_wait=0.0)

    async def work() -> list[bytes]:
        kinds = [
            PredictRequest(texts=["red lamp"]),
            ExplainRequest(label="red lamp", text="red lamp"),
            PredictRequest(texts=["blue mug"]),
            ExplainRequest(label="blue mug", text="blue mug"),
        ]
        tasks = [asyncio.create_task(batcher.submit(kind, 30)) for kind in kinds]
        await asyncio.sleep(0.1)
        held.let_go()
        return await asyncio.gather(*tasks)

    bodies = [json.loads(body) for body in run(work())]
    batcher.close()
    assert ["results" in body for body in bodies] == [True, False, True, False]
    assert [body["label"] for body in bodies[1::2]] == ["red lamp", "blue mug"]


def test_closing_answers_those_who_wait(served: Served, held: Held) -> None:
    batcher = Batcher(held, Meters(), batch_size=2, batch_wait=0.0)

    async def work() -> list[bytes]:
        tasks = [asyncio.create_task(batcher.submit(PredictRequest(texts=[product]), 30)) for product in PRODUCTS[:9]]
        await asyncio.sleep(0.1)
        closing = asyncio.create_task(asyncio.to_thread(batcher.close))
        held.let_go()
        found = await asyncio.gather(*tasks)
        await closing
        return found

    assert run(work()) == [answer(served, [PredictRequest(texts=[product])])[0] for product in PRODUCTS[:9]]
