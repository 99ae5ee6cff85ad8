"""A model of linear buckets as a service."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from starlette.testclient import TestClient
from tests.serving.conftest import train
from tests.serving.test_keeping import exchange, keeper_of, until, watched

from xmach.serving.answering import answer
from xmach.serving.app import create_app
from xmach.serving.messages import PredictRequest
from xmach.serving.model import Served, version_of
from xmach.serving.service import Service
from xmach.serving.settings import Settings

TEXTS = ["a red lamp", "", "blue kettle 😀", "unheard of"]


@pytest.fixture(scope="module")
def linear_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return train(tmp_path_factory.mktemp("serving") / "linear", 0, learner="linear")


@pytest.fixture(scope="module")
def linear(linear_folder: Path) -> Served:
    return Served.open(linear_folder)


@pytest.fixture
def client(linear_folder: Path, linear: Served) -> Iterator[TestClient]:
    with TestClient(create_app(Service(Settings(linear_folder), linear)), raise_server_exceptions=False) as running:
        yield running


def ask(client: TestClient, path: str = "/v1/predict", **body: Any) -> dict[str, Any]:
    response = client.post(path, json=body)
    assert response.status_code == 200, response.text
    result: dict[str, Any] = response.json()
    return result


@pytest.mark.parametrize("estimator", [None, "mean", "min", "median", "log"])
def test_answers_are_the_predictors(client: TestClient, linear: Served, estimator: str | None) -> None:
    results = ask(client, texts=TEXTS, k=4, **({} if estimator is None else {"estimator": estimator}))["results"]
    best = linear.predictor.top_k(TEXTS, 4, estimator=estimator)
    assert [result["labels"] for result in results] == best.labels.tolist()
    np.testing.assert_array_equal(np.float32([result["scores"] for result in results]), best.scores)
    assert results[0]["labels"][0] == "red lamp"


def test_a_label_is_explained(client: TestClient) -> None:
    why = ask(client, "/v1/explain", text="a red lamp", label="red lamp")
    effects = {word["word"]: word["effect"] for word in why["words"]}
    assert min(effects["red"], effects["lamp"]) > effects["a"]
    assert len(why["repetitions"]) == 6


def test_the_card_names_the_learner(client: TestClient) -> None:
    [card] = client.get("/v1/models").json()["models"]
    assert (card["learner"], card["loss"], card["hidden"]) == ("linear", "squared_hinge", [])


def test_every_entry_of_the_card_is_documented(client: TestClient) -> None:
    [card] = client.get("/v1/models").json()["models"]
    schema = client.get("/openapi.json").json()["components"]["schemas"]["ModelCard"]
    assert set(card) == set(schema["properties"])


def test_an_estimate_that_does_not_exist_is_refused(client: TestClient) -> None:
    response = client.post("/v1/predict", json={"texts": TEXTS, "estimator": "mean", "probabilities": True})
    assert response.status_code == 422
    assert "train with linear_loss='logistic'" in response.json()["error"]["message"]


def test_a_refused_request_does_not_harm_those_answered_with_it(linear: Served) -> None:
    bad = PredictRequest(texts=["red lamp"], estimator="mean", probabilities=True)
    good = PredictRequest(texts=["red lamp"], estimator="mean")
    refused, answered = answer(linear, [bad, good])
    assert "the unbiased estimate does not exist" in str(refused)
    assert isinstance(answered, bytes)


def test_models_of_both_kinds_take_each_others_place(tmp_path: Path, folder: Path, linear_folder: Path) -> None:
    link = tmp_path / "live"
    os.symlink(folder, link)
    keeper, meters = keeper_of(link)

    async def work() -> None:
        exchange(link, linear_folder)
        await until(lambda: keeper.served.version == version_of(linear_folder))
        assert keeper.served.card["learner"] == "linear"
        assert keeper.served.predictor.top_k(["red lamp"], 1).labels.tolist() == [["red lamp"]]
        exchange(link, folder)
        await until(lambda: keeper.served.version == version_of(folder))

    watched(keeper, work)
    assert 'xmach_reloads_total{result="taken"} 2.0' in meters.exposition().decode()
