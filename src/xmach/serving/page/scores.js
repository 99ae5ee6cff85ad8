// What a score means. `log` is a mean of logarithms: shown as e to it, the geometric mean of the bucket probabilities.
// So every number on the page is a merge of the R probabilities that the strip shows.

// `rank` is the second stage's score, an estimate of the probability that the label is right.

const MERGES = { mean: "the mean", min: "the least", median: "the median", log: "the geometric mean" };

/** A score on the scale of probabilities, 0 to 1. */
const asProbability = (score, estimator) => Math.min(1, Math.max(0, estimator === "log" ? Math.exp(score) : score));

/** How an estimator merges a label's bucket probabilities, in words. */
function mergeOf(estimator, buckets) {
  if (estimator === "rank") return "estimated by the ranker";
  return `${MERGES[estimator] ?? "a merge"} of its ${buckets}`;
}

/** What leaving a word out does to the score: a factor where scores are logarithms, else a difference. */
function effectText(effect, estimator) {
  if (estimator === "log") {
    const factor = Math.exp(effect);
    if (factor > 1000) return ">1000×";
    return `${factor >= 9.95 ? factor.toFixed(0) : factor >= 0.095 ? factor.toFixed(1) : factor.toFixed(2)}×`;
  }
  const points = effect * 100;
  return `${points < 0 ? "−" : "+"}${Math.abs(points).toFixed(Math.abs(points) >= 10 ? 0 : 1)}`;
}

/** The sentence under the words. */
const effectLegend = (estimator) =>
  estimator === "log"
    ? "How many times smaller the score would be without the word; below 1, it would be larger."
    : "By how many percentage points the score would fall without the word; below 0, it would rise.";

export { asProbability, effectLegend, effectText, mergeOf };
