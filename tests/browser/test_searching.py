"""Typing, the controls, the address, and answers that come late."""

from __future__ import annotations

import pytest

pytest.importorskip("selenium")
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import Select
from tests.browser.page import Page
from tests.browser.servers import ARABIC, EXAMPLES, MARKUP

pytestmark = pytest.mark.browser


def test_results_come_while_typing(page: Page) -> None:
    page.open().type("red steel drill")
    assert len(page.answered("red steel drill")) == 10
    assert page.one("#facts").text.startswith("10 labels of 75 in ")
    assert page.one("#facts").text.endswith(" ms")
    page.wait(lambda: page.js("return document.getElementById('status').textContent") == "10 results", "the status")


def test_bars_shrink_from_a_full_first_one(page: Page) -> None:
    page.open("?q=red+steel+drill").answered("red steel drill")
    widths = page.js("""return [...document.querySelectorAll('.fill')].map(
        (fill) => fill.getBoundingClientRect().width / fill.parentElement.getBoundingClientRect().width)""")
    assert widths[0] == pytest.approx(1)
    assert widths == sorted(widths, reverse=True)
    numbers = [float(number.text.strip("<%")) for number in page.all(".row .number")]
    assert numbers == sorted(numbers, reverse=True)
    assert 0 < numbers[0] <= 100


def test_fewer_requests_than_keys(page: Page) -> None:
    page.open().planned("return null").type("blue cotton shirt")
    page.answered("blue cotton shirt")
    assert len(page.sent()) < len("blue cotton shirt")


def test_k(page: Page) -> None:
    page.open("?q=red+steel+drill").answered("red steel drill")
    page.replace("#k", "3")
    page.wait(lambda: len(page.labels()) == 3, "3 results")
    assert "k=3" in page.browser.current_url


@pytest.mark.parametrize("typed, left", [("0", "7"), ("", "7"), ("101", "10")])  # 101 is typed by way of 1 and 10
def test_k_out_of_range_is_not_taken(page: Page, typed: str, left: str) -> None:
    page.open("?q=red+steel+drill&k=7").answered("red steel drill")
    page.replace("#k", typed + Keys.TAB)
    assert page.one("#k").get_property("value") == left
    assert page.notice() == ""


@pytest.mark.parametrize("estimator", ["mean", "min", "median", "log"])
def test_estimator(page: Page, estimator: str) -> None:
    page.open("?q=red+steel+drill").planned("return null").answered("red steel drill")
    Select(page.one("#estimator")).select_by_value(estimator)
    page.wait(lambda: page.sent() and page.sent()[-1][1].get("estimator") == estimator, "a request")
    page.wait(lambda: page.one("#results").get_attribute("aria-busy") == "false", "its answer")
    assert f"estimator={estimator}" in page.browser.current_url
    assert all(0 <= float(number.text.strip("<%")) <= 100 for number in page.all(".row .number"))


@pytest.mark.parametrize("deaf", ["false", "true"])  # an answer that comes although the request was taken back
def test_a_late_answer_does_not_replace_a_newer_one(page: Page, deaf: str) -> None:
    page.open().planned(f"return body.texts[0] === 'red' ? {{wait: 1200, deaf: {deaf}}} : null").type("red")
    page.wait(lambda: page.sent(), "the first request")
    page.type(" steel drill")
    page.answered("red steel drill")
    before = page.labels()
    page.js("window.late = false; setTimeout(() => { window.late = true; }, 1600)")
    page.wait(lambda: page.js("return window.late"), "the late answer")
    assert page.labels() == before


def test_example_queries(page: Page) -> None:
    chips = page.open().ready().wait(lambda: page.all(".chip"), "examples")
    assert tuple(chip.text for chip in chips) == EXAMPLES
    chips[1].click()
    page.answered(EXAMPLES[1])
    assert page.box.get_property("value") == EXAMPLES[1]
    assert page.focused() == page.box


def test_the_address_is_the_search(page: Page) -> None:
    page.open("?q=blue+cotton+shirt&k=4&estimator=min").answered("blue cotton shirt")
    assert len(page.labels()) == 4
    assert page.box.get_property("value") == "blue cotton shirt"
    assert page.one("#estimator").get_property("value") == "min"
    assert "blue cotton shirt" in page.browser.title


@pytest.mark.parametrize("query", ["?k=0", "?k=1000&estimator=best", "?k=x&q="])
def test_what_is_not_legal_in_the_address_is_left_out(page: Page, query: str) -> None:
    page.open(query).ready()
    assert page.one("#k").get_property("value") == "10"
    assert page.one("#estimator").get_property("value") == ""


def test_back_and_forward(page: Page) -> None:
    page.open().type("red steel drill")
    page.answered("red steel drill")
    Select(page.one("#estimator")).select_by_value("min")
    page.wait(lambda: "estimator=min" in page.browser.current_url, "the address")
    page.browser.back()
    page.wait(lambda: page.one("#estimator").get_property("value") == "", "the estimator before")
    page.answered("red steel drill")
    page.browser.back()
    page.wait(lambda: page.labels() == [] and page.all(".chip"), "the page as it began")
    assert page.box.get_property("value") == ""
    page.browser.forward()
    page.answered("red steel drill")


def test_a_label_with_markup_is_text(page: Page) -> None:
    page.open().type("picture tag")
    page.answered(MARKUP)
    panel = page.explain_first()
    assert page.all("main img") == []
    assert "broken" not in page.browser.title
    assert panel.get_attribute("aria-label") == f"Why {MARKUP}?"


def test_a_label_from_right_to_left(page: Page) -> None:
    page.open().type("electric arabic")
    page.answered(ARABIC)
    label = page.one(".row .label")
    assert page.js("return getComputedStyle(arguments[0]).direction", label) == "rtl"
    assert page.js("return getComputedStyle(document.querySelector('.row')).direction") == "ltr"
