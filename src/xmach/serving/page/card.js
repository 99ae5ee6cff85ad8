// The model card: what answers here, and how good it was when it was last judged.

import { byId, el, foreign } from "./dom.js";
import { bytes, count, counted, metric } from "./numbers.js";

const body = byId("card-body");

const entry = (name, ...value) => el("div", {}, el("dt", {}, name), el("dd", {}, ...value));

function layers(hidden) {
  return hidden && hidden.length > 0 ? hidden.map(count).join(" + ") : "none, linear";
}

function time(stamp) {
  const date = new Date(stamp);
  if (Number.isNaN(date.getTime())) return foreign(stamp);
  const shown = new Intl.DateTimeFormat("en", { dateStyle: "medium", timeStyle: "short" }).format(date);
  return el("time", { datetime: stamp }, shown);
}

function evaluation(metrics) {
  if (!metrics) return [el("p", { class: "muted" }, "Not evaluated yet.")];
  const rows = Object.entries(metrics.values).map(([name, value]) => entry(name, metric(value)));
  return [el("dl", {}, ...rows), el("p", { class: "muted small" }, foreign(metrics.file), `, ${counted(metrics.rows, "row")}`)];
}

/** Show a model. */
function render(model) {
  const facts = el(
    "dl",
    {},
    entry("Labels", count(model.labels)),
    entry("Buckets", count(model.buckets)),
    entry("Repetitions", count(model.repetitions)),
    entry("Features", count(model.features)),
    entry("Hidden units", layers(model.hidden)),
    entry("Loss", foreign(model.loss)),
    entry("Estimator", foreign(model.estimator)),
    entry("Labels a row", model.multilabel ? "several" : "one"),
    entry("Size", bytes(model.bytes)),
    entry("Version", el("code", {}, foreign(model.version))),
    entry("Loaded", time(model.loaded)),
  );
  body.replaceChildren(facts, el("h3", {}, "Last evaluation"), ...evaluation(model.metrics));
}

function unknown() {
  body.replaceChildren(el("p", { class: "muted" }, "Not known yet."));
}

export { render, unknown };
