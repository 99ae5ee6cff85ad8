"""The page as the tests see it: what is on it, and waiting for what must come."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from selenium.webdriver import Chrome
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.remote.webelement import WebElement
from selenium.webdriver.support.ui import WebDriverWait

PICTURES = Path(__file__).resolve().parents[2] / "build" / "browser"
PATIENCE = 15  # s

# fetch that waits, fails or is told what to answer: `window.plan(body)` gives {wait, status, retry} or nothing
PLANNED_FETCH = """
const real = window.fetch; window.sent = [];
window.plan = (body) => { %s };
window.fetch = async (path, options = {}) => {
  const body = options.body ? JSON.parse(options.body) : null;
  window.sent.push([path, body]);
  const planned = (body && window.plan(body)) || {};
  const answer = planned.status
    ? new Response(JSON.stringify({error: {code: "planned", message: "Planned.", request_id: "r-1"}}),
                   {status: planned.status, headers: {"Retry-After": String(planned.retry ?? 0)}})
    : await real(path, {...options, signal: planned.deaf ? undefined : options.signal});
  if (planned.wait) await new Promise((resolve) => setTimeout(resolve, planned.wait));
  return answer;
};
"""


class Page:
    """A browser on the search page of one server."""

    def __init__(self, browser: Chrome, address: str) -> None:
        self.browser, self.address = browser, address

    def open(self, query: str = "", width: int = 1200, height: int = 900, scheme: str = "light") -> Page:
        """Load the page anew: a fresh tab's storage, a window size, a colour scheme."""
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 500}
        self.browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        self.browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
        self.browser.get(f"{self.address}/{query}")
        return self

    def one(self, selector: str) -> WebElement:
        """The element of a selector, once it is there."""
        return self.wait(lambda: next(iter(self.all(selector)), None), selector)

    def all(self, selector: str) -> list[WebElement]:
        """The elements of a selector now."""
        return self.browser.find_elements(By.CSS_SELECTOR, selector)

    def js(self, script: str, *arguments: Any) -> Any:
        """What a script returns."""
        return self.browser.execute_script(script, *arguments)

    def wait(self, condition: Callable[[], Any], what: str = "condition") -> Any:
        """The condition's value once it is true."""
        return WebDriverWait(self.browser, PATIENCE, 0.05).until(lambda _: condition(), f"waited for {what}")

    @property
    def box(self) -> WebElement:
        """The search box."""
        return self.one("#q")

    def ready(self) -> Page:
        """Wait until the model is known."""
        self.one("#card dl")
        return self

    def type(self, text: str) -> None:
        """Type into the box."""
        self.ready().box.send_keys(text)

    def replace(self, selector: str, text: str) -> None:
        """Type over what a field holds."""
        field = self.one(selector)
        field.send_keys(Keys.CONTROL + "a")
        field.send_keys(Keys.BACKSPACE, text)

    def labels(self) -> list[str]:
        """The labels of the results now."""
        return self.js("return [...document.querySelectorAll('.row .label')].map((label) => label.textContent)")

    def answered(self, first: str) -> list[str]:
        """The labels, once this one leads."""
        self.wait(lambda: self.labels()[:1] == [first], f"{first!r} first")
        return self.labels()

    def press(self, *keys: str) -> None:
        """Keys, one after another, into whatever has the focus."""
        for key in keys:
            self.browser.switch_to.active_element.send_keys(key)

    def explain_first(self) -> WebElement:
        """Open the explanation of the first result from the box by keys only."""
        self.box.send_keys(Keys.ARROW_DOWN)
        self.press(Keys.ENTER)
        self.one(".explain .bucket")
        return self.one(".explain")

    def focused(self) -> WebElement:
        """What has the focus."""
        return self.browser.switch_to.active_element

    def notice(self) -> str:
        """What the page says in place of results."""
        return self.js("return document.getElementById('notice').innerText")

    def planned(self, plan: str) -> Page:
        """From now on requests go as the plan says, a JavaScript function of `body`."""
        self.ready().js(PLANNED_FETCH % plan)
        return self

    def sent(self) -> list[Any]:
        """[path, body] of the requests since `planned`."""
        return self.js("return window.sent")

    def picture(self, name: str) -> None:
        """A screenshot into build/browser."""
        PICTURES.mkdir(parents=True, exist_ok=True)
        self.browser.save_screenshot(str(PICTURES / f"{name}.png"))
