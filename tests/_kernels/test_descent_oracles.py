"""Dual coordinate descent against LIBLINEAR on small problems: the same primal objective."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC

from xmach._kernels.train.descent import logistic_pass, squared_hinge_pass, squared_norms
from xmach.block_sizes import LANES

N_ROWS, N_FEATURES, N_BUCKETS = 200, 50, 10
PASSES = {"squared hinge": squared_hinge_pass, "logistic": logistic_pass}


def problem(density: float, seed: int = 0) -> tuple[Any, Any, Any]:
    """Rows of unit length, targets (n, 10) that a noisy linear model gave them, and unequal sample weights."""
    draw = np.random.default_rng(seed)
    rows = sp.random(N_ROWS, N_FEATURES, density, "csr", np.float32, rng=draw, data_rvs=draw.standard_normal)
    rows = sp.csr_matrix(rows.multiply(1.0 / np.maximum(sp.linalg.norm(rows, axis=1), 1e-6)[:, None]), dtype=np.float32)
    scores = rows @ draw.normal(size=(N_FEATURES, N_BUCKETS)) + 0.3 * draw.normal(size=(N_ROWS, N_BUCKETS))
    targets = np.where(scores > np.quantile(scores, 0.8, axis=0), 1.0, -1.0)
    return rows, targets, draw.choice([0.3, 1.0, 4.0], N_ROWS).astype(np.float32)


def objective(loss: str, rows: Any, y: Any, costs: Any, weights: Any, bias: Any) -> float:
    """|w|^2 / 2 + sum of C_i loss(y_i f_i), the bias regularised as a weight."""
    margins = y * (rows @ weights.astype(np.float64) + bias)
    losses = np.maximum(0.0, 1.0 - margins) ** 2 if loss == "squared hinge" else np.logaddexp(0.0, -margins)
    return float(0.5 * (weights.astype(np.float64) ** 2).sum() + 0.5 * float(bias) ** 2 + costs @ losses)


def ours(loss: str, rows: Any, targets: Any, costs: Any, passes: int) -> list[float]:
    """The objective of every bucket after some passes in random orders."""
    norms, bits = np.empty(N_ROWS, np.float32), (targets > 0).astype(np.uint64)
    squared_norms(rows.indptr, rows.data, norms)
    masks = (bits << np.arange(N_BUCKETS, dtype=np.uint64)).sum(axis=1, dtype=np.uint64)
    weights, bias, duals = (np.zeros((*size, LANES), np.float32) for size in ((N_FEATURES,), (), (N_ROWS,)))
    draw, moved = np.random.default_rng(0), np.empty(N_ROWS, np.bool_)
    for _ in range(passes):
        matrix = (rows.indptr, rows.indices, rows.data, norms)
        order = draw.permutation(N_ROWS)
        PASSES[loss](*matrix, costs, masks, order, np.float32(0.0), weights, bias, duals, moved)
    return [objective(loss, rows, targets[:, k], costs, weights[:, k], bias[k]) for k in range(N_BUCKETS)]


def liblinear(loss: str, rows: Any, targets: Any, sample_weight: Any, C: float) -> list[float]:
    """The objective that scikit-learn reaches with a tight tolerance, bucket by bucket."""
    tight: dict[str, Any] = {"C": C, "intercept_scaling": 1, "tol": 1e-8, "max_iter": 1_000_000, "random_state": 0}
    found = []
    for y in targets.T:
        if loss == "squared hinge":
            model = LinearSVC(loss="squared_hinge", dual=True, **tight)
        else:
            model = LogisticRegression(solver="liblinear", **tight)
        model.fit(rows, y, sample_weight)
        found.append(objective(loss, rows, y, C * sample_weight, model.coef_[0], model.intercept_[0]))
    return found


densities = pytest.mark.parametrize("density", [0.1, 0.6], ids=["sparse", "dense"])


@densities
@pytest.mark.parametrize("C", [0.1, 1.0, 10.0])
@pytest.mark.parametrize("loss", PASSES)
def test_many_passes_reach_the_objective_of_liblinear(loss: str, C: float, density: float) -> None:
    rows, targets, sample_weight = problem(density)
    best = liblinear(loss, rows, targets, sample_weight, C)
    np.testing.assert_allclose(ours(loss, rows, targets, C * sample_weight, 1000), best, rtol=1e-6)


@densities
@pytest.mark.parametrize(
    ("loss", "C", "factor"),
    [
        ("squared hinge", 0.1, 1.01), ("squared hinge", 1.0, 1.4), ("squared hinge", 10.0, 8.0),
        ("logistic", 0.1, 1.001), ("logistic", 1.0, 1.001), ("logistic", 10.0, 1.2),
    ],
)  # fmt: skip
def test_six_passes_come_within_a_factor_of_the_optimum(loss: str, C: float, factor: float, density: float) -> None:
    """More rows than features and unequal weights are hard for few passes; the larger C, the more they take."""
    rows, targets, sample_weight = problem(density)
    best = np.array(ours(loss, rows, targets, C * sample_weight, 1000))
    ratios = ours(loss, rows, targets, C * sample_weight, 6) / best
    assert (ratios > 1.0 - 1e-6).all()
    assert ratios.max() < factor
