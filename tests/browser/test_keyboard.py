"""Everything without a mouse."""

from __future__ import annotations

import pytest

pytest.importorskip("selenium")
from selenium.webdriver.common.keys import Keys
from tests.browser.page import Page

pytestmark = pytest.mark.browser


def test_from_nothing_to_an_explanation_and_back(page: Page) -> None:
    page.open().ready()
    page.js("document.activeElement.blur()")
    page.press("/")
    assert page.focused() == page.box
    page.press("red steel drill")
    page.answered("red steel drill")
    page.press(Keys.ARROW_DOWN, Keys.ARROW_DOWN)
    assert page.focused() == page.all(".row")[1]
    page.press(Keys.ENTER)
    page.one(".explain .bucket")
    assert page.focused() == page.all(".row")[1]
    page.press(Keys.TAB)
    assert page.focused().get_attribute("class") == "close"
    page.press(Keys.ESCAPE)
    assert page.all(".explain") == []
    assert page.focused() == page.all(".row")[1]
    page.press(Keys.ESCAPE)
    assert page.focused() == page.box
    page.press(Keys.ESCAPE)
    page.wait(lambda: page.box.get_property("value") == "" and page.labels() == [], "an empty page")


def test_arrows_home_end(page: Page) -> None:
    page.open("?q=red+steel+drill").answered("red steel drill")
    page.box.send_keys(Keys.ARROW_DOWN)
    rows = page.all(".row")
    page.press(Keys.END)
    assert page.focused() == rows[-1]
    page.press(Keys.ARROW_DOWN)
    assert page.focused() == rows[-1]
    page.press(Keys.HOME)
    assert page.focused() == rows[0]
    page.press(Keys.ARROW_UP)
    assert page.focused() == page.box


def test_one_row_is_in_the_tab_order(page: Page) -> None:
    page.open("?q=red+steel+drill&k=50").answered("red steel drill")
    assert [row.get_attribute("tabindex") for row in page.all(".row")].count("0") == 1
    page.box.send_keys(Keys.TAB, Keys.NULL)
    page.press(Keys.TAB, Keys.TAB)
    assert page.focused() == page.all(".row")[0]


def test_a_slash_in_the_box_is_a_slash(page: Page) -> None:
    page.open().type("red/steel")
    assert page.box.get_property("value") == "red/steel"


def test_focus_is_seen(page: Page) -> None:
    page.open("?q=red+steel+drill").answered("red steel drill")
    page.box.send_keys(Keys.ARROW_DOWN)
    style, width = page.js(
        "const s = getComputedStyle(document.activeElement); return [s.outlineStyle, s.outlineWidth]"
    )
    assert (style, width) == ("solid", "2px")
