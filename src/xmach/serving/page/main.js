// The page: one search at a time, from the box or the address to results.

import * as api from "./api.js";
import * as card from "./card.js";
import { byId } from "./dom.js";
import * as explain from "./explain.js";
import * as keys from "./keys.js";
import * as notices from "./notices.js";
import { count, counted, milliseconds } from "./numbers.js";
import { QueryError, forPredict } from "./query.js";
import * as results from "./results.js";
import * as url from "./url.js";

const DEBOUNCE = 120; // ms
const box = byId("q");
const k = byId("k");
const estimator = byId("estimator");
const facts = byId("facts");

let search = url.read();
let shown = null; // the search whose results are on the page
let model = null;
let controller = null; // of the request under way
let timer;

/** Nobody waits for the request under way any more: an answer that still comes is not looked at. */
function cancel() {
  clearTimeout(timer);
  controller?.abort();
  controller = null;
}

function fillControls() {
  if (box.value.trim() !== search.q) box.value = search.q;
  k.value = search.k;
  estimator.value = search.estimator;
}

function emptyPlace() {
  explain.close();
  results.clear();
  shown = null;
  facts.textContent = "";
}

/** A new search, by the user: into the address, then to the server. */
function change(part, { typed = false } = {}) {
  search = { ...search, ...part };
  fillControls();
  cancel();
  if (typed && search.q) timer = setTimeout(go, DEBOUNCE, true);
  else go(typed);
}

function go(typed) {
  url.write(search, { typed });
  run();
}

async function run() {
  cancel();
  results.setBusy(false);
  document.title = [search.q, model?.name, "xmach"].filter(Boolean).join(" · ");
  if (model === null) return;
  if (!search.q) {
    emptyPlace();
    notices.examples(model.examples ?? [], (text) => {
      change({ q: text });
      box.focus();
    });
    return;
  }
  controller = new AbortController();
  const { signal } = controller;
  const asked = { ...search, text: model.text };
  try {
    const body = { ...forPredict(asked.q, asked.text), k: asked.k, ...(asked.estimator && { estimator: asked.estimator }) };
    results.setBusy(true);
    const { answer, took } = await api.predict(body, { signal, onBusy: notices.busy });
    if (!signal.aborted) show(asked, answer, took);
  } catch (error) {
    if (!signal.aborted) fail(error, run);
  } finally {
    if (!signal.aborted) results.setBusy(false);
  }
}

function show(asked, answer, took) {
  const [result] = answer.results;
  const reopened = shown?.q === asked.q ? explain.openLabel() : null;
  explain.close();
  notices.clear();
  results.render(result, asked.estimator || model.estimator);
  shown = asked;
  if (answer.model !== model.version) loadModel().catch(() => {}); // the server has taken a newer one; the next answer asks again
  facts.textContent = `${counted(result.labels.length, "label")} of ${count(model.labels)} in ${milliseconds(took)}`;
  if (result.labels.length === 0) return notices.nothing(asked.q);
  notices.announce(counted(result.labels.length, "result"));
  if (reopened !== null) results.chooseLabel(reopened);
}

function fail(error, again) {
  emptyPlace();
  if (error.status === 401) return askToken();
  if (error instanceof QueryError) return notices.hint(error.message);
  const lasting = error.status >= 400 && error.status < 500 && error.status !== 408 && error.status !== 429;
  const retry = () => {
    box.focus(); // the button goes
    again();
  };
  notices.error(error, lasting ? null : retry); // the same request would be refused again
}

function askToken() {
  emptyPlace();
  notices.askToken(api.hasToken(), (token) => {
    api.useToken(token);
    box.focus();
    notices.clear();
    start();
  });
}

function takeRows() {
  byId("q-label").textContent = "Row of features";
  byId("hint").textContent = "This model takes no text. Write a row as index:value pairs with spaces between them, columns counted from 0.";
  byId("hint").classList.remove("help");
  box.placeholder = "3:1 17:2.5";
  box.inputMode = "text";
  box.classList.add("code");
}

async function loadModel() {
  const { answer } = await api.models({ onBusy: notices.busy });
  [model] = answer.models;
  card.render(model);
  byId("title").textContent = `Search ${model.name}`;
  if (!model.text) takeRows();
}

async function start() {
  try {
    await loadModel();
    notices.clear();
  } catch (error) {
    card.unknown();
    fail(error, start);
    return;
  }
  run();
}

box.addEventListener("input", () => {
  if (box.value.trim() !== search.q) change({ q: box.value.trim() }, { typed: true });
});
box.addEventListener("change", url.settle);
byId("search").addEventListener("submit", (event) => {
  event.preventDefault();
  if (shown?.q !== search.q) go(true);
  url.settle();
});
k.addEventListener("input", () => {
  const value = url.validK(k.value);
  if (value !== null && value !== search.k) change({ k: value });
});
k.addEventListener("change", fillControls);
estimator.addEventListener("change", () => change({ estimator: estimator.value }));
window.addEventListener("popstate", () => {
  url.settle();
  const before = JSON.stringify(search);
  search = url.read();
  if (JSON.stringify(search) === before) return; // only the part after # has changed
  fillControls();
  run();
});
results.onChoose((row) => explain.toggle(row, shown, askToken));
keys.listen(() => {
  box.value = "";
  if (search.q) change({ q: "" });
});

fillControls();
if (!search.q && matchMedia("(hover: hover)").matches) box.focus();
start();
