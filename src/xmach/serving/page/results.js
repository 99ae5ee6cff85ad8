// The ranked labels: rows with a bar and a number; arrow keys move through them, one row at a time is in the tab order.

import { byId, el, foreign } from "./dom.js";
import { percent } from "./numbers.js";
import { asProbability } from "./scores.js";

const list = byId("results");
let choose = () => {};

const rows = () => [...list.querySelectorAll(":scope > li > button")];

/** Call `listener(row)` when a row is clicked or Enter is pressed on it. */
function onChoose(listener) {
  choose = listener;
}

/** Move the one tab stop of the list to a row, and the focus too. */
function focusRow(row) {
  for (const other of rows()) other.tabIndex = other === row ? 0 : -1;
  row.focus();
}

function rowOf(label, probability, best, position) {
  const share = best > 0 ? probability / best : 0;
  const button = el(
    "button",
    { type: "button", class: "row", "aria-expanded": "false", tabindex: position === 0 ? "0" : "-1" },
    el("span", { class: "rank" }, el("span", { class: "hidden" }, "Rank "), String(position + 1)),
    foreign(label, { class: "label" }),
    el("span", { class: "number" }, percent(probability)),
    el("span", { class: "bar", "aria-hidden": "true" }, el("span", { class: "fill", style: { "--share": share.toFixed(4) } })),
  );
  button.addEventListener("click", () => {
    focusRow(button);
    choose({ button, label, item: button.parentElement });
  });
  return el("li", {}, button);
}

/** Show labels with their scores, best first. */
function render({ labels, scores }, estimator) {
  const probabilities = scores.map((score) => asProbability(score, estimator));
  const best = Math.max(0, ...probabilities);
  list.replaceChildren(...labels.map((label, position) => rowOf(label, probabilities[position], best, position)));
}

const clear = () => list.replaceChildren();

/** Results of an older search stand until newer ones come; they are dimmed meanwhile. */
const setBusy = (busy) => list.setAttribute("aria-busy", String(busy));

/** Choose the row of a label, if it is among the results. */
function chooseLabel(label) {
  const position = rows().findIndex((row) => row.querySelector(".label").textContent === String(label));
  if (position < 0) return false;
  const button = rows()[position];
  choose({ button, label, item: button.parentElement });
  return true;
}

/** Move from a row, or from the box (null), by the arrow keys; `leave` is called where the list ends at the top. */
function move(from, key, leave) {
  const all = rows();
  if (all.length === 0) return false;
  const at = all.indexOf(from);
  const target = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: all.length - 1 }[key];
  if (target === undefined) return false;
  if (target < 0) leave();
  else if (target < all.length) focusRow(all[target]);
  return true;
}

export { chooseLabel, clear, focusRow, move, onChoose, render, setBusy };
