// Why a label was given: the panel under its row, with agreement, buckets, words and rivals.

import * as api from "./api.js";
import { el, foreign } from "./dom.js";
import { announce } from "./notices.js";
import { counted, percent } from "./numbers.js";
import { forExplain } from "./query.js";
import { asProbability, mergeOf } from "./scores.js";
import { strip } from "./strip.js";
import { words } from "./words.js";

let open = null; // {button, label, panel, controller}

const section = (title, ...children) => el("section", {}, el("h3", {}, title), ...children);

/** The label that is explained now, or null. */
const openLabel = () => (open === null ? null : open.label);

/** Close the panel; the focus goes back to its row if it was in the panel. */
function close() {
  if (open === null) return false;
  const { button, panel, controller } = open;
  const inside = panel.contains(document.activeElement);
  open = null;
  controller.abort();
  panel.remove();
  button.setAttribute("aria-expanded", "false");
  button.removeAttribute("aria-controls");
  if (inside) button.focus();
  return true;
}

function rivalOf(rival, estimator, total) {
  const shared = `${rival.shared.length} of ${total}`;
  return el(
    "li",
    { class: "rival" },
    foreign(rival.label, { class: "label" }),
    el("span", { class: "shared", title: `Repetitions ${rival.shared.join(", ")}` }, `shares ${shared}`,
      el("span", { class: "hidden" }, `: ${rival.shared.length === 1 ? "repetition" : "repetitions"} ${rival.shared.join(", ")}`)),
    el("span", { class: "number" }, percent(asProbability(rival.score, estimator))),
  );
}

const PARTS = {
  mach: "Sketch: its buckets",
  ranker: "Its own classifier",
  profile: "Similar to its rows",
  text: "Similar to its text",
  prior: "How frequent it is",
  unseen: "No training rows",
  intercept: "For every label",
  sketch: "The sketch by itself",
};

/** One part of a ranker's score, on the scale of log-odds. */
const termOf = ([name, value]) => el("li", { class: "rival" }, el("span", { class: "label" }, PARTS[name] ?? name), el("span", { class: "number" }, `${value < 0 ? "−" : "+"}${Math.abs(value).toFixed(2)}`));

const verdict = ({ agreeing, repetitions }) => `${agreeing} of ${counted(repetitions.length, "repetition")} ${agreeing === 1 ? "agrees" : "agree"}`;

function heading(answer) {
  const score = percent(asProbability(answer.score, answer.estimator));
  const buckets = counted(answer.repetitions.length, "bucket probability", "bucket probabilities");
  const merged = `Score ${score}: ${mergeOf(answer.estimator, buckets)}.`;
  return [el("h2", {}, verdict(answer)), el("p", { class: "muted small" }, merged)];
}

function contents(answer, query) {
  const { estimator, repetitions, rivals } = answer;
  const total = repetitions.length;
  const parts = [section("Buckets", ...strip(repetitions))];
  if (answer.words.length > 0) parts.push(section("Words that drove it", ...words(query, answer.words, estimator)));
  const terms = Object.entries(answer.parts);
  if (terms.length > 0) parts.push(section("What the score adds up", el("ul", { class: "rivals" }, ...terms.map(termOf))));
  const list = rivals.length > 0
    ? el("ul", { class: "rivals" }, ...rivals.map((rival) => rivalOf(rival, estimator, total)))
    : el("p", { class: "muted small" }, "No other label shares a bucket with it.");
  parts.push(section("Rivals in the same buckets", list));
  return parts;
}

function panelOf(label) {
  const cross = el("button", { type: "button", class: "close", "aria-label": "Close the explanation", on: { click: dismiss } }, "×");
  const title = el("div", {}, el("p", { class: "muted" }, "Looking…"));
  const body = el("div", {});
  const panel = el("div", { id: "explain", class: "explain", role: "region", "aria-label": `Why ${label}?` }, el("div", { class: "explain-head" }, title, cross), body);
  return { panel, title, body };
}

/** Close by the user's wish: the focus is on the row afterwards. */
function dismiss() {
  if (open === null) return false;
  const { button } = open;
  close();
  button.focus();
  return true;
}

/** Open the panel of a row, or close it where it is open; `asked`: the search whose results are shown. */
async function toggle({ button, item, label }, asked, onRefused) {
  const again = open?.button === button;
  close();
  if (again) return;
  const controller = new AbortController();
  const { panel, title, body } = panelOf(label);
  open = { button, label, panel, controller };
  item.append(panel);
  button.setAttribute("aria-expanded", "true");
  button.setAttribute("aria-controls", "explain");
  try {
    const request = { ...forExplain(asked.q, asked.text), label, ...(asked.estimator && { estimator: asked.estimator }) };
    const { answer } = await api.explain(request, {
      signal: controller.signal,
      onBusy: () => title.replaceChildren(el("p", { class: "muted" }, "The server is busy, trying again…")),
    });
    if (controller.signal.aborted) return;
    title.replaceChildren(...heading(answer));
    body.replaceChildren(...contents(answer, asked.q));
    announce(verdict(answer));
  } catch (error) {
    if (controller.signal.aborted) return;
    if (error.status === 401) return onRefused();
    title.replaceChildren(el("p", { class: "problem" }, foreign(error.message)));
    announce(error.message);
  }
  if (document.activeElement === button) item.scrollIntoView({ block: "nearest" }); // not when it opens again by itself
}

export { close, dismiss, openLabel, toggle };
