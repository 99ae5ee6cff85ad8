"""The estimators of a label's probability from its R bucket probabilities."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from xmach._kernels.decode.logarithm import floored_log
from xmach._kernels.decode.scan import MEAN, MEDIAN, MIN
from xmach.config import ESTIMATORS
from xmach.errors import InputError, ParameterError
from xmach.planning import unbiased
from xmach.types import FloatArray


class Rule(NamedTuple):
    """How an estimator is computed: what is done to the cells first, and how the R cells of a label are merged."""

    merge: int  # the kernel's number of the merge
    logarithm: bool = False


# mean: the paper's rule (Theorem 1 without its constants, which do not change the order); min and median: equations
# of its appendix; log: the mean of logarithms, which lets one repetition that is sure a label is wrong outvote more.
RULES = {
    "mean": Rule(MEAN),
    "min": Rule(MIN),
    "median": Rule(MEDIAN),
    "log": Rule(MEAN, logarithm=True),
}


def rule_of(estimator: str) -> Rule:
    """The rule of an estimator, or an error that lists them."""
    if estimator not in RULES:
        raise ParameterError(f"estimator must be one of {', '.join(ESTIMATORS)}, got {estimator!r}")
    return RULES[estimator]


def prepare_cells(probabilities: FloatArray, rule: Rule) -> FloatArray:
    """The cells that the kernel merges, (n, R, B): the probabilities, or their logarithms."""
    if not rule.logarithm:
        return probabilities
    cells = np.empty_like(probabilities)
    floored_log(probabilities.reshape(-1), cells.reshape(-1))
    return cells


def checked_cells(sketch: FloatArray, n_repetitions: int, n_buckets: int) -> FloatArray:
    """A sketch as a float32 array (n, R, B). Raise `InputError` if it has another shape, or numbers not finite."""
    cells = np.ascontiguousarray(sketch, dtype=np.float32)
    if cells.ndim != 3 or cells.shape[1] != n_repetitions or cells.shape[2] < n_buckets:
        raise InputError(
            f"bucket probabilities must be (rows, {n_repetitions} repetitions, {n_buckets} buckets or more), "
            f"got shape {cells.shape}"
        )
    if not np.isfinite(cells).all():
        i, r, b = (int(place[0]) for place in np.nonzero(~np.isfinite(cells)))
        raise InputError(f"bucket probabilities must be finite, got {cells[i, r, b]} at row {i}, ({r}, {b})")
    return cells


def as_probabilities(scores: FloatArray, estimator: str, collision: float) -> FloatArray:
    """Scores as estimates of p: for `mean` the unbiased one of Theorem 1, (mean - c) / (1 - c).

    c is the collision probability of the hashes in use; it tends to the theorem's 1/B as their prime grows. The
    other estimators stay biased: `min` and `median` are what they are, `log` is a geometric mean.
    """
    if estimator == "mean":
        return unbiased(scores, collision)
    return np.exp(scores) if estimator == "log" else scores
