"""Sizes, schemes, names and contrast; and pictures in build/browser for whoever wants to look."""

from __future__ import annotations

import pytest

pytest.importorskip("selenium")
from tests.browser.page import Page
from tests.browser.servers import LONG

pytestmark = pytest.mark.browser
SIZES = {"wide": (1200, 1000), "tablet": (768, 1024), "phone": (360, 760), "narrow": (320, 640)}
SCHEMES = ("light", "dark")

# the least contrast of text and the ground behind it, and where: WCAG's relative luminance
CONTRAST = """
const parse = (text) => { const [r, g, b, a = 1] = text.match(/[\\d.]+/g).map(Number); return [r, g, b, a]; };
const over = (top, under) => top.slice(0, 3).map((c, i) => c * top[3] + under[i] * (1 - top[3]));
const light = (rgb) => rgb.map((c) => c / 255).map((c) => (c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4))
  .reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0);
const ground = (node) => {
  if (!node) return [255, 255, 255];
  const own = parse(getComputedStyle(node).backgroundColor);
  return own[3] === 1 ? own.slice(0, 3) : over(own, ground(node.parentElement));
};
const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
let worst = [21, ""], seen = 0;
while (walker.nextNode()) {
  const node = walker.currentNode.parentElement;
  if (!walker.currentNode.data.trim() || !node.checkVisibility({visibilityProperty: true})) continue;
  if (node.closest(".hidden, noscript, option")) continue;
  const behind = ground(node), text = over(parse(getComputedStyle(node).color), behind);
  const [a, b] = [light(text), light(behind)].sort((x, y) => y - x);
  seen += 1;
  if ((a + 0.05) / (b + 0.05) < worst[0]) worst = [(a + 0.05) / (b + 0.05), `${node.className}: ${node.textContent}`];
}
return [...worst, seen];
"""


def states(page: Page, name: str, *where: object) -> list[str]:
    """Go through empty, results, explanation and the odd labels; what is wrong in each, with a picture of each."""
    wrong = []

    def look(state: str) -> None:
        page.picture(f"{name}-{state}")
        wide, inner = page.js("return [document.documentElement.scrollWidth, document.documentElement.clientWidth]")
        if wide > inner:
            wrong.append(f"{state}: scrolls sideways, {wide} > {inner}")
        contrast, what, seen = page.js(CONTRAST)
        if contrast < 4.5 or seen < 10:
            wrong.append(f"{state}: contrast {contrast:.2f} of {what!r}, {seen} texts")
        selector = "a, button, input, select, summary, [tabindex='0']"
        nameless = [
            e.get_attribute("outerHTML") for e in page.all(selector) if e.is_displayed() and not e.accessible_name
        ]
        wrong.extend(f"{state}: no name: {html}" for html in nameless)

    page.open("", *where).ready().one(".chip")
    look("empty")
    page.type("red steel drill")
    page.answered("red steel drill")
    look("results")
    page.explain_first()
    page.one(".numbers summary").click()
    look("explain")
    page.open("?q=glass+lid", *where).answered(LONG)
    page.one(".row").click()
    page.one(".explain .bucket")
    look("long")
    return wrong


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("size", SIZES)
def test_every_size_and_scheme(page: Page, size: str, scheme: str) -> None:
    assert states(page, f"{size}-{scheme}", *SIZES[size], scheme) == []


def test_dark_is_dark(page: Page) -> None:
    grounds = []
    for scheme in SCHEMES:
        page.open("", scheme=scheme)
        grounds.append(page.js("return getComputedStyle(document.body).backgroundColor"))
    light, dark = (sum(map(int, ground.removeprefix("rgb(").rstrip(")").split(","))) for ground in grounds)
    assert dark < 100 < 700 < light


def test_less_motion_is_no_motion(page: Page) -> None:
    page.open("?q=red+steel+drill").answered("red steel drill")
    for value, moving in (("no-preference", True), ("reduce", False)):
        features = [{"name": "prefers-reduced-motion", "value": value}]
        page.browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
        script = (
            "return [...document.querySelectorAll('*')].some((e) => parseFloat(getComputedStyle(e).transitionDuration))"
        )
        assert page.js(script) is moving


def test_the_card(page: Page) -> None:
    card = page.open().ready().one("#card")
    for fact in ("Labels\n75", "Buckets\n24", "Repetitions\n8", "Not evaluated yet."):
        assert fact in card.text
    assert page.js("return document.querySelectorAll('h1').length") == 1


def test_under_the_policy_of_the_server(page: Page) -> None:
    policy = page.open().js("return fetch('/').then((answer) => answer.headers.get('Content-Security-Policy'))")
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
