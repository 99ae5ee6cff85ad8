"""The score of a candidate: its parts, their weights, and what turns them into a probability.

The parts of a (row, candidate) pair, as columns in the order of `PARTS`:

    mach      the mean of the log-probabilities of the label's R buckets
    ranker    log sigmoid(3 m), m the margin of the label's own classifier
    profile   log(0.02 + cosine of the row with the label's profile)
    text      log(0.02 + similarity of the row and the label's text)
    prior     log(1 + training rows of the label)
    unseen    1 for a label without training rows, which has a text, 0 for others

The score is a mixture of two estimates of the probability that a label on the shortlist is right:

    (1 - share) * sigmoid(line of the weighted sum) + share * sigmoid(line of mach)

Both lines are fitted on the held-out candidates by logistic regression. Of a label without training rows, the sketch
says nothing: its score is the first estimate. With label texts, a weighted sum serves either
queries that name a product or queries that many products match; the mixture serves both.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from xmach.errors import InputError
from xmach.types import FloatArray

PARTS = ("mach", "ranker", "profile", "text", "prior", "unseen")
SLOPE = 3.0  # of a margin within the sigmoid, as for linear buckets
_SMALLEST_COSINE = np.float32(0.02)


def log_margin(margins: FloatArray) -> FloatArray:
    """Return log sigmoid(SLOPE * margin)."""
    outputs = np.float32(-SLOPE) * margins
    logarithm: FloatArray = -np.logaddexp(np.float32(0.0), outputs)
    return logarithm


def log_cosine(cosines: FloatArray) -> FloatArray:
    """Return log(0.02 + cosine); negative cosines count as 0."""
    logarithm: FloatArray = np.log(_SMALLEST_COSINE + np.maximum(cosines, np.float32(0.0)))
    return logarithm


class Line(NamedTuple):
    """The logit of a probability as a linear function of something."""

    slope: float = 1.0
    intercept: float = 0.0

    def probabilities(self, x: FloatArray) -> FloatArray:
        """Return sigmoid(slope * x + intercept)."""
        total = np.float32(self.slope) * x
        total += np.float32(self.intercept)
        np.clip(total, -80.0, 80.0, out=total)
        np.exp(np.negative(total, out=total), out=total)
        found: FloatArray = np.reciprocal(np.float32(1.0) + total)
        return found


AS_IS = Line()


@dataclass(frozen=True)
class Fusion:
    """The weights of the parts, the line that turns their sum into a probability, and the sketch's own estimate."""

    weights: Mapping[str, float]  # of the parts that are used
    slope: float = 1.0
    intercept: float = 0.0
    share: float = 0.0  # of the sketch's own estimate in the score
    sketch: Line = AS_IS  # that estimate's line

    def __post_init__(self) -> None:
        numbers = [*self.weights.values(), self.slope, self.intercept, *self.sketch]
        if set(self.weights) - set(PARTS) or not np.isfinite(numbers).all() or min(self.slope, self.sketch.slope) <= 0:
            raise InputError(f"a ranker's weights must be finite numbers for {', '.join(PARTS)}; got {self}")
        if not 0.0 <= self.share < 1.0:
            raise InputError(f"the sketch's share of a score must be from 0 to below 1; got {self.share}")

    def uses(self, part: str) -> bool:
        """Whether a part counts."""
        return self.weights.get(part, 0.0) != 0.0

    def scores(self, parts: Mapping[str, FloatArray]) -> FloatArray:
        """Return the scores (m,) in (0, 1) of candidates, given the values (m,) of the parts that are used."""
        scores = Line(self.slope, self.intercept).probabilities(self.sums(parts))
        return self.blended(scores, parts) if self.share else scores

    def blended(self, probabilities: FloatArray, parts: Mapping[str, FloatArray]) -> FloatArray:
        """Return the scores, given what the weighted sum says; where a label has no training rows, that is all."""
        sketch = self.sketch.probabilities(parts["mach"])
        if "unseen" in parts:
            np.copyto(sketch, probabilities, where=parts["unseen"] > 0.0)
        share = np.float32(self.share)
        scores: FloatArray = (np.float32(1.0) - share) * probabilities + share * sketch
        return scores

    def sums(self, parts: Mapping[str, FloatArray]) -> FloatArray:
        """Return the weighted sums, added in the order of `PARTS`."""
        used = [name for name in PARTS if self.uses(name)]
        total = np.zeros(len(parts[used[0]]), np.float32)
        for name in used:
            total += np.float32(self.weights[name]) * parts[name]
        return total

    def to_dict(self) -> dict[str, Any]:
        """The fusion as JSON values."""
        values = {"weights": dict(self.weights), "slope": self.slope, "intercept": self.intercept}
        return values | ({"share": self.share, "sketch": self.sketch._asdict()} if self.share else {})

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Fusion:
        """The inverse of `to_dict`."""
        weights = {str(name): float(weight) for name, weight in values["weights"].items()}
        share, sketch = float(values.get("share", 0.0)), values.get("sketch", {})
        line = Line(**{str(name): float(value) for name, value in sketch.items()})
        return cls(weights, float(values["slope"]), float(values["intercept"]), share, line)
