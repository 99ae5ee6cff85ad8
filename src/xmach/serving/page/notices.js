// What the page says when there are no results to show: examples, nothing found, an error, busy, a token is needed.

import { byId, el, foreign } from "./dom.js";

const place = byId("notice");
const status = byId("status");
const CALM = 700; // ms: whoever listens hears about the search that was meant, not about every key
let timer;

/** Say something to screen readers, once typing has come to rest. */
function announce(text) {
  clearTimeout(timer);
  timer = setTimeout(() => {
    status.textContent = text;
  }, CALM);
}

function show(kind, ...children) {
  place.replaceChildren(el("div", { class: `notice ${kind}` }, ...children));
}

const clear = () => place.replaceChildren();

function examples(texts, choose) {
  if (texts.length === 0) return show("calm", el("p", { class: "muted" }, "Results appear here."));
  const chip = (text) => el("li", {}, el("button", { type: "button", class: "chip", dir: "auto", on: { click: () => choose(text) } }, text));
  const title = el("h2", { id: "examples-title" }, "Try one of these");
  return show("calm", title, el("ul", { class: "chips", "aria-labelledby": "examples-title" }, ...texts.map(chip)));
}

function nothing(query) {
  show("calm", el("h2", {}, "Nothing found"), el("p", {}, "No label answers ", foreign(query, { class: "quoted" }), ". Try other or fewer words."));
  announce("Nothing found");
}

function error(problem, again) {
  const id = problem.requestId ? el("p", { class: "muted small" }, "Request ", el("code", {}, problem.requestId)) : null;
  const button = again ? el("button", { type: "button", class: "button", on: { click: again } }, "Try again") : null;
  show("bad", el("h2", {}, "That did not work"), el("p", { class: "said" }, foreign(problem.message)), id, button);
  announce(problem.message);
}

function hint(message) {
  show("calm", el("p", {}, foreign(message)));
  announce(message);
}

function busy(seconds) {
  const when = seconds >= 1 ? `in ${Math.round(seconds)} s` : "now";
  show("wait", el("h2", {}, "The server is busy"), el("p", {}, `Trying again ${when}.`));
  announce(`The server is busy, trying again ${when}`);
}

/** Ask for a token; `refused`: one was given and did not do. */
function askToken(refused, use) {
  const input = el("input", { id: "token", type: "password", autocomplete: "off", spellcheck: "false", required: true, "aria-describedby": "token-hint" });
  const submit = (event) => {
    event.preventDefault();
    if (input.value.trim()) use(input.value.trim());
  };
  const form = el(
    "form",
    { class: "token", on: { submit } },
    el("label", { for: "token" }, "Access token"),
    el("div", { class: "token-row" }, input, el("button", { type: "submit", class: "button" }, "Use token")),
    el("p", { id: "token-hint", class: "muted small" }, "Kept in this tab only, until it is closed."),
  );
  const title = refused ? "The server did not accept this token" : "This server asks for a token";
  show("wait", el("h2", {}, title), form);
  announce(title);
  input.focus();
}

export { announce, askToken, busy, clear, error, examples, hint, nothing };
