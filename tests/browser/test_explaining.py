"""Why a label was given."""

from __future__ import annotations

import pytest

pytest.importorskip("selenium")
from selenium.webdriver.common.keys import Keys
from tests.browser.page import Page
from tests.browser.servers import REPETITIONS

pytestmark = pytest.mark.browser


def test_buckets_words_and_rivals(page: Page) -> None:
    page.open("?q=red+steel+drill").answered("red steel drill")
    page.one(".row").click()
    page.one(".explain .bucket")
    cells = page.all(".explain .bucket")
    assert len(cells) == REPETITIONS
    agreeing = [cell for cell in cells if cell.get_attribute("data-agrees") == "true"]
    assert all("✓" in cell.text for cell in agreeing)
    assert page.one(".explain h2").text.startswith(f"{len(agreeing)} of {REPETITIONS} repetitions agree")
    assert {word.text for word in page.all(".explain .word")} <= {"red", "steel", "drill"}
    assert page.all(".explain .word")
    assert page.one(".explain .query").text.split()[0] == "red"
    assert 1 <= len(page.all(".rival")) <= 10
    assert "red steel drill" not in [label.text for label in page.all(".rival .label")]


def test_the_score_is_the_one_of_the_row(page: Page) -> None:
    for estimator in ("mean", "min", "median", "log"):
        page.open(f"?q=red+steel+drill&estimator={estimator}").answered("red steel drill")
        page.one(".row").click()
        page.one(".explain .bucket")
        assert f"Score {page.one('.row .number').text}:" in page.one(".explain").text


def test_all_numbers_as_a_table(page: Page) -> None:
    page.open("?q=red+steel+drill").answered("red steel drill")
    page.one(".row").click()
    page.one(".numbers summary").click()
    assert len(page.all(".numbers tbody tr")) == REPETITIONS


@pytest.mark.parametrize("query", ["🔩 red 🪛🪛 drill", "  red\tsteel  drill ", "red drill, مثقاب red"])
def test_words_are_marked_where_they_stand(page: Page, query: str) -> None:
    page.open().ready()
    page.js(
        """const box = document.getElementById('q'); box.value = arguments[0];
        box.dispatchEvent(new Event('input', {bubbles: true}));""",
        query,
    )
    page.wait(page.labels, "results")
    page.one(".row").click()
    page.one(".explain .bucket")
    marked = page.js("return [...document.querySelectorAll('.explain .word')].map((word) => word.textContent)")
    assert marked
    assert set(marked) <= {"red", "steel", "drill", "مثقاب"}


def test_click_again_or_cross_or_escape_closes(page: Page) -> None:
    page.open("?q=red+steel+drill").answered("red steel drill")
    row = page.one(".row")
    closings = (row.click, lambda: page.one(".close").click(), lambda: page.press(Keys.ESCAPE))
    for close in closings:
        row.click()
        page.one(".explain .bucket")
        assert row.get_attribute("aria-expanded") == "true"
        close()
        page.wait(lambda: not page.all(".explain"), "the panel to go")
        assert row.get_attribute("aria-expanded") == "false"
        assert page.focused() == row


def test_one_panel_at_a_time(page: Page) -> None:
    page.open("?q=red+steel+drill").answered("red steel drill")
    first, second = page.all(".row")[:2]
    first.click()
    second.click()
    page.one(".explain .bucket")
    assert len(page.all(".explain")) == 1
    assert [row.get_attribute("aria-expanded") for row in (first, second)] == ["false", "true"]


def test_stays_open_when_k_changes_and_closes_when_the_query_does(page: Page) -> None:
    page.open("?q=red+steel+drill").answered("red steel drill")
    page.one(".row").click()
    page.one(".explain .bucket")
    page.replace("#k", "3")
    page.wait(lambda: len(page.labels()) == 3, "3 results")
    page.one(".explain .bucket")
    page.box.send_keys(" lamp")
    page.wait(lambda: not page.all(".explain"), "the panel to go")
