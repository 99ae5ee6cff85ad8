// The R buckets of a label: one cell a repetition, shaded by probability; agreeing ones have a tick and a line.

import { el } from "./dom.js";
import { percent } from "./numbers.js";

const EDGES = [0.01, 0.05, 0.2, 0.5]; // probabilities at which the shade changes
const SHADES = ["under 1%", "1 to 5%", "5 to 20%", "20 to 50%", "50% and more"];

const shadeOf = (probability) => EDGES.filter((edge) => probability >= edge).length;

function cellOf({ repetition, bucket, probability, rank, agrees }) {
  const told = `Repetition ${repetition}: bucket ${bucket}, ${percent(probability)}, rank ${rank}${agrees ? ", agrees" : ", does not agree"}`;
  return el(
    "li",
    { class: "bucket", dataset: { shade: String(shadeOf(probability)), agrees: String(agrees) }, title: told },
    el("span", { class: "hidden" }, told),
    el("span", { class: "mark", "aria-hidden": "true" }, agrees ? "✓" : "·"),
    el("span", { class: "value", "aria-hidden": "true" }, percent(probability)),
  );
}

function legend() {
  const entry = (text, shade) => el("li", {}, el("span", { class: "swatch", dataset: { shade: String(shade) } }), text);
  return el(
    "ul",
    { class: "legend", "aria-hidden": "true" },
    el("li", {}, el("span", { class: "legend-mark" }, "✓"), "agrees: among the 10 best"),
    ...SHADES.map(entry),
  );
}

function table(repetitions) {
  const row = ({ repetition, bucket, probability, rank, agrees }) =>
    el("tr", {}, ...[repetition, bucket, percent(probability), rank, agrees ? "yes" : "no"].map((cell) => el("td", {}, String(cell))));
  const head = ["Repetition", "Bucket", "Probability", "Rank", "Agrees"].map((name) => el("th", { scope: "col" }, name));
  return el(
    "details",
    { class: "numbers" },
    el("summary", {}, "All numbers"),
    el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Buckets as a table" },
      el("table", {}, el("thead", {}, el("tr", {}, ...head)), el("tbody", {}, ...repetitions.map(row)))),
  );
}

/** The strip, what its shades mean, and the same as a table. */
const strip = (repetitions) => [
  el("ol", { class: "strip", "aria-label": "Buckets, one a repetition", style: { "--cells": String(repetitions.length) } }, ...repetitions.map(cellOf)),
  legend(),
  table(repetitions),
];

export { strip };
