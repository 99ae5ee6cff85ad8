// The query with its words marked by how much they did for the label. Positions count code points, not UTF-16 units.

import { el } from "./dom.js";
import { effectLegend, effectText } from "./scores.js";

const NUMBERED = 8; // words that carry a number; in a long text the rest is marked only
const UNDECIDED = "No single word decides: leaving any one of them out hardly changes the score.";
const STEPS = 3;
const LEAST = { log: 0.1, other: 0.005 }; // if the largest effect is below this, no word is marked

/** 1 to 3 by share of the largest effect; 0 for what hardly counts. */
const strengthOf = (effect, largest) => (largest > 0 ? Math.ceil((Math.abs(effect) / largest - 0.05) * STEPS) : 0);

function marked(text, word, largest, numbered, estimator) {
  const strength = Math.max(0, strengthOf(word.effect, largest));
  if (strength === 0) return document.createTextNode(text);
  const properties = { class: "word", dataset: { strength: String(strength), side: word.effect < 0 ? "against" : "for" } };
  const mark = el("mark", properties, text);
  return numbered.has(word) ? el("span", { class: "numbered" }, mark, el("span", { class: "effect" }, effectText(word.effect, estimator))) : mark;
}

/** The query as a paragraph of marked words, with what the numbers mean. */
function words(query, found, estimator) {
  const characters = Array.from(query);
  const inOrder = [...found].sort((a, b) => a.start - b.start);
  const largest = Math.max(0, ...found.map((word) => Math.abs(word.effect)));
  if (largest < (LEAST[estimator] ?? LEAST.other)) return [el("p", { class: "query", dir: "auto" }, query), el("p", { class: "muted small" }, UNDECIDED)];
  const numbered = new Set([...found].sort((a, b) => Math.abs(b.effect) - Math.abs(a.effect)).slice(0, NUMBERED));
  const line = el("p", { class: "query", dir: "auto" });
  let at = 0;
  for (const word of inOrder) {
    if (word.start < at) continue; // overlaps the word before it
    line.append(characters.slice(at, word.start).join(""));
    line.append(marked(characters.slice(word.start, word.end).join(""), word, largest, numbered, estimator));
    at = word.end;
  }
  line.append(characters.slice(at).join(""));
  return [line, el("p", { class: "muted small" }, effectLegend(estimator))];
}

export { words };
