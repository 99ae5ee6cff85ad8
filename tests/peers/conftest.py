"""A shop of 300 products, made once: what every contestant is tried on."""

from __future__ import annotations

from pathlib import Path

import pytest
from benchmarks.peers.search_data import Questions, Training
from benchmarks.peers.sources import ShopSource, provide


@pytest.fixture(scope="session")
def source() -> ShopSource:
    """Its settings."""
    return ShopSource(300, 600, 120)


@pytest.fixture(scope="session")
def shop(source: ShopSource, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of its data."""
    return provide(source, tmp_path_factory.mktemp("search"))


@pytest.fixture(scope="session")
def training(shop: Path) -> Training:
    """What is learnt from."""
    return Training.open(shop)


@pytest.fixture(scope="session")
def questions(shop: Path) -> Questions:
    """What is asked."""
    return Questions.open(shop)
