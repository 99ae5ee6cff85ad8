"""Dual coordinate descent against its slow twins; what holds after every pass."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.reference.descent import (
    logistic_dual_slow,
    logistic_pass_slow,
    squared_hinge_pass_slow,
    squared_norms_slow,
)

from xmach._kernels.train.descent import (
    logistic_dual,
    logistic_pass,
    squared_hinge_pass,
    squared_norms,
)
from xmach.block_sizes import LANES

TWINS = {squared_hinge_pass: squared_hinge_pass_slow, logistic_pass: logistic_pass_slow}
each_pass = pytest.mark.parametrize("sweep", TWINS, ids=["squared hinge", "logistic"])
ALL = np.uint64(2**64 - 1)
Pass = Callable[..., int]


@dataclass
class Problem:
    """Random rows, every third of them empty, with a mask of their positive lanes; lane 5 never is positive."""

    indptr: Any
    indices: Any
    values: Any
    costs: Any
    masks: Any
    n_features: int
    moved: Any = None  # the rows that the last pass moved, and those it left out

    @classmethod
    def draw(cls, seed: int, n_rows: int = 15, n_features: int = 8) -> Problem:
        draw = np.random.default_rng(seed)
        lengths = np.where(np.arange(n_rows) % 3 == 2, 0, draw.integers(1, n_features + 1, n_rows))
        columns = [draw.choice(n_features, length, replace=False) for length in lengths]
        indices = np.concatenate([*columns, []]).astype(np.int32)
        masks = draw.integers(0, 2**64, n_rows, np.uint64) & draw.integers(0, 2**64, n_rows, np.uint64)
        masks[draw.random(n_rows) < 0.4] = 0  # rows without labels in these buckets
        masks[draw.random(n_rows) < 0.1] = ALL
        return cls(
            np.append(0, np.cumsum(lengths)), indices, draw.normal(size=len(indices)).astype(np.float32),
            draw.uniform(0.1, 3.0, n_rows).astype(np.float32), masks & ~np.uint64(1 << 5), n_features,
        )  # fmt: skip

    @property
    def norms(self) -> Any:
        out = np.empty(len(self.masks), np.float32)
        squared_norms(self.indptr, self.values, out)
        return out

    def start(self, dtype: Any = np.float32) -> tuple[Any, Any, Any]:
        """Weights (d, 64), bias (64,) and duals (n, 64) of zeros."""
        return tuple(np.zeros((*size, LANES), dtype) for size in ((self.n_features,), (), (len(self.masks),)))

    def run(self, sweep: Pass, state: tuple[Any, Any, Any], passes: int = 1, smallest: float = 0.0) -> list[int]:
        """Passes in random orders, the same for every caller; how many dual variables each moved."""
        orders = [np.random.default_rng(number).permutation(len(self.masks)) for number in range(passes)]
        return [self.run_rows(sweep, state, order, smallest) for order in orders]

    def run_rows(self, sweep: Pass, state: tuple[Any, Any, Any], order: Any, smallest: float = 0.0) -> int:
        rows = (self.indptr, self.indices, self.values, self.norms, self.costs, self.masks)
        self.moved = np.ones(len(self.masks), np.bool_)
        return sweep(*rows, order, np.float32(smallest), *state, self.moved)

    def signs(self) -> Any:
        """y (n, 64): 1 for positive rows, else -1."""
        bits = self.masks[:, None] >> np.arange(LANES, dtype=np.uint64) & np.uint64(1)
        return 2.0 * bits.astype(np.float64) - 1.0

    def dense(self) -> Any:
        """The rows (n, d + 1) with their constant feature."""
        out = np.zeros((len(self.masks), self.n_features + 1))
        for i in range(len(out)):
            part = slice(self.indptr[i], self.indptr[i + 1])
            out[i, self.indices[part]] = self.values[part]
        out[:, -1] = 1.0
        return out


# --- against the twins


@each_pass
@settings(deadline=None, max_examples=15)  # the first call compiles
@given(st.integers(0, 2**32 - 1), st.integers(0, 12), st.integers(1, 20), st.integers(1, 3))
def test_passes_are_their_twins(sweep: Pass, seed: int, n_rows: int, n_features: int, passes: int) -> None:
    problem = Problem.draw(seed, n_rows, n_features)
    fast, slow = problem.start(), problem.start(np.float64)
    problem.run(sweep, fast, passes)
    problem.run(TWINS[sweep], slow, passes)
    for mine, twin in zip(fast, slow, strict=True):
        np.testing.assert_allclose(mine, twin, rtol=1e-3, atol=1e-4)


@each_pass
@pytest.mark.parametrize("smallest", [0.01, 0.1])
def test_moves_of_at_most_the_smallest_are_left_out(sweep: Pass, smallest: float) -> None:
    problem = Problem.draw(0, 30)
    fast = problem.start()
    problem.run(sweep, fast)
    for i in range(30):  # row by row: a move that one of the two leaves out would change all that follow
        before, slow = fast[2].copy(), tuple(array.astype(np.float64) for array in fast)
        moved = problem.run_rows(sweep, fast, np.array([i]), smallest)
        assert problem.moved[i] == (moved > 0)
        assert np.delete(problem.moved, i).all()  # of rows that it did not visit it says nothing
        problem.run_rows(TWINS[sweep], slow, np.array([i]))
        exact, steps = slow[2] - before, fast[2] - before
        np.testing.assert_array_equal(moved, np.count_nonzero(steps))
        clear = np.abs(np.abs(exact) - np.float32(smallest)) > 1e-5
        np.testing.assert_allclose(steps[clear], np.where(np.abs(exact) > smallest, exact, 0.0)[clear], atol=1e-5)


@each_pass
def test_no_move_changes_no_bit(sweep: Pass) -> None:
    problem = Problem.draw(1)
    state = problem.start()
    problem.run(sweep, state, 2)
    before = [array.tobytes() for array in state]
    assert problem.run(sweep, state, smallest=100.0) == [0]
    assert [array.tobytes() for array in state] == before


@each_pass
def test_only_rows_in_the_order_are_visited(sweep: Pass) -> None:
    problem = Problem.draw(2)
    state = problem.start()
    assert problem.run_rows(sweep, state, np.array([3, 7])) == np.count_nonzero(state[2])
    assert np.flatnonzero(state[2].any(axis=1)).tolist() == [3, 7]


@each_pass
def test_a_row_of_no_cost_changes_nothing(sweep: Pass) -> None:
    problem = Problem.draw(3)
    problem.costs[4:8] = 0.0
    problem.masks[4:6] = [0, ALL]
    state = problem.start()
    problem.run(sweep, state, 3)
    assert not state[2][4:8].any()
    assert all(np.isfinite(array).all() for array in state)


@settings(deadline=None, max_examples=300)
@given(
    st.floats(-6, 6), st.floats(0, 5), st.floats(-100, 100, width=32),
    st.one_of(st.sampled_from([0.0, 1e-9, 1.0]), st.floats(0, 1, width=32)),
)  # fmt: skip
def test_the_logistic_dual_is_its_twin(log_cost: float, log_norm: float, margin: float, share: float) -> None:
    cost, norm = 10.0**log_cost, 1.0 + 10.0**log_norm
    found = logistic_dual(share * cost, margin, norm, cost)
    assert found == pytest.approx(logistic_dual_slow(share * cost, margin, norm, cost), abs=1e-6 * cost)


def test_the_logistic_dual_does_not_oscillate() -> None:
    """Newton's steps with halving alone stopped at 0.95 here, after 25 steps."""
    assert logistic_dual(0.0, -2.966, 30.633, 1.0) == pytest.approx(0.15275, abs=1e-4)


@pytest.mark.parametrize("seed", range(3))
def test_norms_are_their_twins(seed: int) -> None:
    problem = Problem.draw(seed, 40)
    slow = np.empty(40, np.float32)
    squared_norms_slow(problem.indptr, problem.values, slow)
    np.testing.assert_allclose(problem.norms, slow, rtol=1e-6)
    np.testing.assert_allclose(problem.norms, (problem.dense() ** 2).sum(axis=1), rtol=1e-6)


# --- what holds after every pass


@each_pass
@pytest.mark.parametrize("seed", range(5))
def test_duals_are_feasible_and_weights_are_their_sum(sweep: Pass, seed: int) -> None:
    problem = Problem.draw(seed, 60)
    state = problem.start()
    for _ in range(5):
        problem.run(sweep, state, 3)
        weights, bias, duals = state
        alphas = problem.signs() * duals  # (n, 64)
        assert (alphas >= 0.0).all()
        assert sweep is squared_hinge_pass or (alphas <= problem.costs[:, None]).all()
        expected = problem.dense().T @ duals.astype(np.float64)  # (d + 1, 64)
        np.testing.assert_allclose(np.vstack([weights, bias]), expected, rtol=1e-4, atol=1e-4)


def test_logistic_duals_are_inside_their_bounds() -> None:
    problem = Problem.draw(0, 60)
    state = problem.start()
    problem.run(logistic_pass, state, 5)
    alphas = problem.signs() * state[2]
    assert (alphas > 0.0).all()
    assert (alphas < problem.costs[:, None]).all()


def test_logistic_duals_that_reach_their_bound_do_not_pass_it() -> None:
    """With steps rounded by themselves one dual in thirty passed C by the last bit."""
    draw, n_rows = np.random.default_rng(0), 50
    costs = draw.uniform(0.01, 1.0, n_rows).astype(np.float32)
    none, masks = np.zeros(0, np.float32), np.full(n_rows, ALL)
    problem = Problem(np.zeros(n_rows + 1, np.int64), none.astype(np.int32), none, costs, masks, 1)
    weights, _, _ = problem.start()
    duals = (0.5 * draw.random((n_rows, LANES)) * costs[:, None]).astype(np.float32)
    for i in range(n_rows):
        bias = np.full(LANES, -40.0, np.float32)  # so wrong that the best alpha rounds to C
        problem.run_rows(logistic_pass, (weights, bias, duals), np.array([i]))
    assert (duals == costs[:, None]).all()


@each_pass
def test_a_bucket_has_the_same_bits_whatever_its_neighbours_are(sweep: Pass) -> None:
    problem = Problem.draw(4, 40)
    state = problem.start()
    problem.run(sweep, state, 4)

    places = np.random.default_rng(0).permutation(LANES)
    bits = problem.masks[:, None] >> places.astype(np.uint64) & np.uint64(1)
    problem.masks = (bits << np.arange(LANES, dtype=np.uint64)).sum(axis=1, dtype=np.uint64)
    permuted = problem.start()
    problem.run(sweep, permuted, 4)
    for mine, other in zip(permuted, state, strict=True):
        assert mine.tobytes() == np.ascontiguousarray(other[..., places]).tobytes()

    lane = 11
    problem.masks &= np.uint64(1 << lane)  # all others become negative everywhere, most rows have no positive lane
    alone = problem.start()
    problem.run(sweep, alone, 4)
    for mine, other in zip(alone, permuted, strict=True):
        assert mine[..., lane].tobytes() == other[..., lane].tobytes()
