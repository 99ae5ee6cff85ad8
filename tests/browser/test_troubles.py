"""Nothing found, errors, a busy server, a token, a model without text."""

from __future__ import annotations

import pytest

pytest.importorskip("selenium")
from tests.browser.page import Page
from tests.browser.servers import TOKEN

pytestmark = pytest.mark.browser


def test_nothing_found(page: Page) -> None:
    page.open().ready().js("""const real = window.fetch; window.fetch = async (path, options) => path === 'v1/predict'
        ? new Response(JSON.stringify({model: 'x', results: [{labels: [], scores: []}]})) : real(path, options)""")
    page.type("red <b>drill</b>")
    page.wait(lambda: "Nothing found" in page.notice(), "the notice")
    assert "<b>drill</b>" in page.notice()


def test_an_error_and_trying_again(page: Page) -> None:
    page.open().planned("return window.sent.length === 1 ? {status: 500} : null")
    page.box.send_keys("red steel drill")
    page.wait(lambda: "Planned." in page.notice(), "the error")
    assert "r-1" in page.notice()
    page.one(".notice .button").click()
    page.answered("red steel drill")
    assert page.notice() == ""
    assert page.focused() == page.box


def test_what_would_be_refused_again_is_not_tried_again(page: Page) -> None:
    page.open().planned("return {status: 422}").type("red")
    page.wait(lambda: "Planned." in page.notice(), "the error")
    assert page.all(".notice .button") == []


@pytest.mark.parametrize("status", [429, 503])
def test_a_busy_server_is_asked_once_more(page: Page, status: int) -> None:
    page.open().planned(f"return window.sent.length === 1 ? {{status: {status}, retry: 1}} : null").type("red")
    page.wait(lambda: "The server is busy" in page.notice(), "the notice")
    assert "Trying again in 1 s" in page.notice()
    page.wait(page.labels, "results")
    assert len(page.sent()) == 2
    assert page.notice() == ""


def test_a_server_that_stays_busy_is_an_error(page: Page) -> None:
    page.open().planned("return {status: 503, retry: 0}").type("red")
    page.wait(lambda: "Planned." in page.notice(), "the error")
    assert len(page.sent()) == 2


def test_no_server(page: Page) -> None:
    page.open().ready().js("window.fetch = async () => { throw new TypeError('Failed to fetch'); }")
    page.type("red")
    page.wait(lambda: "cannot be reached" in page.notice(), "the error")


def test_a_token_is_asked_for_and_kept_for_the_tab(guarded: Page) -> None:
    guarded.open("?q=red+steel+drill").one("#token").send_keys("wrong\n")
    guarded.wait(lambda: "did not accept" in guarded.notice(), "the refusal")
    guarded.one("#token").send_keys(TOKEN + "\n")
    guarded.answered("red steel drill")
    guarded.picture("token-accepted")
    assert TOKEN not in guarded.browser.current_url
    assert guarded.js("return localStorage.length") == 0
    guarded.open("?q=blue+cotton+shirt").answered("blue cotton shirt")
    guarded.explain_first()


def test_a_model_without_text_takes_rows(rows: Page) -> None:
    rows.open().ready()
    assert "index:value" in rows.one("#hint").text
    assert rows.box.accessible_name == "Row of features"
    rows.type("3:1 17:2.5 1:.5e0")
    rows.wait(lambda: len(rows.labels()) == 10, "results")
    rows.box.send_keys("")
    rows.explain_first()
    assert len(rows.all(".bucket")) == 4
    assert rows.all(".word") == []
    rows.picture("rows")


@pytest.mark.parametrize(
    "typed, said", [("drill", "“drill” is not an index:value pair"), ("3:1 3:2", "Index 3 is there twice")]
)
def test_a_row_that_cannot_be_read_says_why(rows: Page, typed: str, said: str) -> None:
    rows.open().type(typed)
    rows.wait(lambda: said in rows.notice(), "the reason")
