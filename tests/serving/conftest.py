"""A small model of texts, and another one to be taken in its place."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("fastapi", reason="fastapi is not installed (the `serve` extra)")

from starlette.testclient import TestClient

from xmach import MACHClassifier
from xmach.serving.app import create_app
from xmach.serving.model import Served
from xmach.serving.service import Service
from xmach.serving.settings import TOKEN_VARIABLE, Settings

COLOURS = ("red", "blue", "green", "black", "white", "yellow")
THINGS = ("table", "chair", "lamp", "drill", "mug", "shoe", "shirt", "kettle")
PRODUCTS = [f"{colour} {thing}" for colour in COLOURS for thing in THINGS]


def train(folder: Path, seed: int, **settings: Any) -> Path:
    texts = [f"{product} {word}" for product in PRODUCTS for word in ("cheap", "large", "new")]
    labels = [product for product in PRODUCTS for _ in range(3)]
    network = {"hidden": (16,), "epochs": 30, "learning_rate": 0.02} if settings.get("learner") != "linear" else {}
    settings = {"n_buckets": 20, "n_repetitions": 6} | network | settings
    model = MACHClassifier(features="text", random_state=seed, **settings).fit(texts, labels)
    model.save(folder)
    return folder


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return train(tmp_path_factory.mktemp("serving") / "shop", 0)


@pytest.fixture(scope="session")
def other_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return train(tmp_path_factory.mktemp("serving") / "other", 1)


@pytest.fixture
def own_folder(folder: Path, tmp_path: Path) -> Path:
    """A copy that a test may change."""
    return Path(shutil.copytree(folder, tmp_path / "own"))


@pytest.fixture(scope="session")
def served(folder: Path) -> Served:
    return Served.open(folder)


@pytest.fixture(autouse=True)
def no_token(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(TOKEN_VARIABLE, raising=False)


@pytest.fixture
def client(folder: Path, served: Served) -> Iterator[TestClient]:
    with TestClient(create_app(Service(Settings(folder), served)), raise_server_exceptions=False) as running:
        yield running
