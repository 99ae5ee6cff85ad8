"""A headless Chromium on a real `xmach serve` of a small model; a skip with the reason where one of them is missing."""

from __future__ import annotations

import importlib.util
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from selenium.webdriver import Chrome
    from tests.browser.page import Page

FLAGS = (
    "--headless",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


def _found(*names: str) -> str:
    path = next(filter(None, map(shutil.which, names)), None)
    if path is None:
        pytest.skip(f"{names[0]} is not installed")
    return path


@pytest.fixture(scope="session")
def chromium(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Chrome]:
    """A browser with a profile of its own."""
    if importlib.util.find_spec("selenium") is None:
        pytest.skip("selenium is not installed")
    binary, driver = _found("chromium", "chromium-browser", "google-chrome"), _found("chromedriver")
    from selenium.webdriver import Chrome, ChromeOptions
    from selenium.webdriver.chrome.service import Service

    options = ChromeOptions()
    options.binary_location = binary
    root = ("--no-sandbox",) if os.geteuid() == 0 else ()  # Chromium refuses its sandbox to root
    for flag in (*FLAGS, *root, f"--user-data-dir={tmp_path_factory.mktemp('profile')}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    browser = Chrome(options=options, service=Service(driver))
    yield browser
    browser.quit()


@pytest.fixture(scope="session")
def _fastapi() -> None:
    if importlib.util.find_spec("fastapi") is None:
        pytest.skip("fastapi is not installed: pip install 'xmach[serve]'")


@pytest.fixture(scope="session")
def shop_model(tmp_path_factory: pytest.TempPathFactory, _fastapi: None) -> Path:
    """A folder with a small text model."""
    from tests.browser.servers import train_shop

    return train_shop(tmp_path_factory.mktemp("shop") / "shop")


@pytest.fixture(scope="session")
def shop_address(shop_model: Path) -> Iterator[str]:
    """Its server, with example queries."""
    from tests.browser.servers import EXAMPLES, serve

    examples = shop_model.parent / "examples.txt"
    examples.write_text("\n".join(EXAMPLES) + "\n", encoding="utf-8")
    with serve(shop_model, "--examples", examples) as address:
        yield address


@pytest.fixture(scope="session")
def guarded_address(shop_model: Path) -> Iterator[str]:
    """A server of it that asks for TOKEN."""
    from tests.browser.servers import TOKEN, serve

    file = shop_model.parent / "token"
    file.write_text(TOKEN + "\n", encoding="utf-8")
    file.chmod(0o600)
    with serve(shop_model, "--token-file", file) as address:
        yield address


@pytest.fixture(scope="session")
def rows_address(tmp_path_factory: pytest.TempPathFactory, _fastapi: None) -> Iterator[str]:
    """A server of a model without text."""
    from tests.browser.servers import serve, train_rows

    with serve(train_rows(tmp_path_factory.mktemp("rows") / "rows")) as address:
        yield address


def _visit(browser: Chrome, address: str) -> Page:
    from tests.browser.page import Page

    browser.get_log("browser")  # what earlier tests left there
    return Page(browser, address)


@pytest.fixture
def page(chromium: Chrome, shop_address: str) -> Iterator[Page]:
    """The page of the text model; no test may leave an error in the browser's console."""
    yield _visit(chromium, shop_address)
    assert [entry for entry in chromium.get_log("browser") if entry["level"] in ("SEVERE", "WARNING")] == []


@pytest.fixture
def guarded(chromium: Chrome, guarded_address: str) -> Page:
    """The page of the server that asks for a token; the console may tell of answers 401."""
    return _visit(chromium, guarded_address)


@pytest.fixture
def rows(chromium: Chrome, rows_address: str) -> Page:
    """The page of the model without text."""
    return _visit(chromium, rows_address)
