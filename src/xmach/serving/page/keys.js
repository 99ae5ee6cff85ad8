// The keyboard: / to the box, arrows through the results, Escape closes, goes back, clears.

import { byId } from "./dom.js";
import * as explain from "./explain.js";
import * as results from "./results.js";

const box = byId("q");
const ARROWS = ["ArrowDown", "ArrowUp", "Home", "End"];

const writes = (target) => target.matches?.("input, select, textarea, [contenteditable]");
const modified = (event) => event.ctrlKey || event.metaKey || event.altKey || event.isComposing;

function focusBox() {
  box.focus();
  box.select();
}

/** Listen; `clear` empties the search. */
function listen(clear) {
  document.addEventListener("keydown", (event) => {
    if (modified(event)) return;
    const row = event.target.closest?.(".row");
    let done = false;
    if (event.key === "/" && !writes(event.target)) {
      focusBox();
      done = true;
    } else if (event.key === "Escape") {
      done = escape(event.target, clear);
    } else if (row && ARROWS.includes(event.key)) {
      done = results.move(row, event.key, focusBox);
    } else if (event.target === box && event.key === "ArrowDown") {
      done = results.move(null, event.key, focusBox);
    }
    if (done) event.preventDefault();
  });
}

/** One step back: the explanation, then from the results to the box, then the query. */
function escape(target, clear) {
  if (target === box && explain.close()) return true;
  if (explain.dismiss()) return true;
  if (target === box) {
    clear();
    return true;
  }
  if (!target.closest?.(".results")) return false;
  focusBox();
  return true;
}

export { focusBox, listen };
