"""A new model in the place of the old one; a bad one is refused."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from tests.serving.conftest import train

from xmach.errors import ModelIncomplete
from xmach.serving.answering import answer
from xmach.serving.keeping import Keeper
from xmach.serving.messages import ExplainRequest, PredictRequest
from xmach.serving.metrics import Meters
from xmach.serving.model import Served, version_of
from xmach.serving.settings import Settings
from xmach.store import load


def exchange(link: Path, folder: Path) -> None:
    """Turn a link to another folder, at once."""
    fresh = link.with_name("fresh-link")
    fresh.symlink_to(folder)
    os.replace(fresh, link)


@pytest.fixture
def link(tmp_path: Path, folder: Path) -> Path:
    place = tmp_path / "live"
    place.symlink_to(folder)
    return place


def watched(keeper: Keeper, work: Callable[[], Awaitable[None]]) -> None:
    async def both() -> None:
        watching = asyncio.create_task(keeper.watch())
        await work()
        watching.cancel()

    asyncio.run(both())


async def until(condition: Callable[[], bool]) -> None:
    for _ in range(1000):
        if condition():
            return
        await asyncio.sleep(0.02)
    raise AssertionError("it did not come about within 20 s")


def keeper_of(folder: Path) -> tuple[Keeper, Meters]:
    meters = Meters()
    return Keeper(Settings(folder, watch=0.02), Served.open(folder), meters), meters


def test_a_link_that_is_turned_gives_another_model(link: Path, folder: Path, other_folder: Path) -> None:
    keeper, meters = keeper_of(link)
    old, new = version_of(folder), version_of(other_folder)
    assert keeper.served.version == old != new

    async def work() -> None:
        exchange(link, other_folder)
        await until(lambda: keeper.served.version == new)
        exchange(link, folder)
        await until(lambda: keeper.served.version == old)

    watched(keeper, work)
    assert 'xmach_reloads_total{result="taken"} 2.0' in meters.exposition().decode()


def test_a_folder_that_is_replaced_gives_another_model(own_folder: Path, other_folder: Path) -> None:
    keeper, _ = keeper_of(own_folder)

    async def work() -> None:
        os.rename(own_folder, own_folder.with_name("old"))
        await asyncio.sleep(0.1)  # nothing there: the old model goes on
        assert keeper.served.version == version_of(own_folder.with_name("old"))
        shutil.copytree(other_folder, own_folder.with_name("new"))
        os.rename(own_folder.with_name("new"), own_folder)
        await until(lambda: keeper.served.version == version_of(other_folder))

    watched(keeper, work)


def test_a_corrupt_model_is_refused_and_the_old_one_goes_on(
    link: Path, folder: Path, other_folder: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    keeper, meters = keeper_of(link)
    bad = Path(shutil.copytree(other_folder, tmp_path / "bad"))
    weights = bad / "repetition-003.safetensors"
    content = bytearray(weights.read_bytes())
    content[-5] ^= 1
    weights.write_bytes(content)

    async def work() -> None:
        exchange(link, bad)
        await until(lambda: 'result="refused"' in meters.exposition().decode())
        assert keeper.served.version == version_of(folder)
        assert len(keeper.served.predictor.top_k(["red lamp"], 3).labels) == 1
        exchange(link, other_folder)  # mended

    watched(keeper, work)
    assert "repetition-003.safetensors: the content does not match the manifest" in str(vars(caplog.records[0]))


def test_a_folder_that_is_half_copied_is_tried_again(
    link: Path, other_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("xmach.serving.keeping._SOON", 0.05)
    keeper, meters = keeper_of(link)
    half = Path(shutil.copytree(other_folder, tmp_path / "half"))
    (half / "repetition-002.safetensors").unlink()

    async def work() -> None:
        exchange(link, half)
        await until(lambda: 'result="refused"' in meters.exposition().decode())
        shutil.copy(other_folder / "repetition-002.safetensors", half)
        await until(lambda: keeper.served.version == version_of(other_folder))

    watched(keeper, work)


def test_a_folder_without_a_finished_model_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ModelIncomplete, match="no finished model"):
        Served.open(tmp_path)


def test_models_with_and_without_a_ranker_take_turns(own_folder: Path, tmp_path: Path) -> None:
    ranked = train(tmp_path / "ranked", 0, learner="linear", cost=1.0, passes=3, ranker="linear", validation=0.3)
    assert load(ranked).ranking is not None
    plain = Path(shutil.copytree(own_folder, tmp_path / "plain"))
    keeper, _ = keeper_of(own_folder)
    for source, estimator in ((ranked, "rank"), (plain, "log"), (ranked, "rank")):
        shutil.rmtree(own_folder)
        shutil.copytree(source, own_folder)
        assert keeper._take() is None
        assert keeper.served.card["estimator"] == estimator
        asked = {"exclude": ["red lamp"], "candidates": ["red lamp", "red table", "blue mug"], "threshold": -99.0}
        requests = [PredictRequest(texts=["red table"], **asked), ExplainRequest(text="red table", label="red table")]
        found, explained = (json.loads(body) for body in answer(keeper.served, requests) if isinstance(body, bytes))
        assert found["results"][0]["labels"] == ["red table", "blue mug"]
        assert bool(explained["parts"]) == (estimator == "rank")
