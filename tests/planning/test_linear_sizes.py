"""The weights and bytes of sparse linear buckets: by hand, in models that were made, and as measured on real rows."""

from __future__ import annotations

import pytest
from tests.models.linear_models import parts_of, random_weights

from xmach.models.linear import LinearModel
from xmach.planning import DataSize, Shape, expected_weights, stored_bytes, with_clusters

ROWS = DataSize(n_rows=20_000, nonzeros_per_row=20, labels_per_row=10)
# n, values a row, labels a row, d; cost; B: weights kept with prune_below=0.1 after 5 passes (docs/planning.md)
BIBTEX, CITEULIKE = (4880, 68.5, 2.38, 1836), (20_756, 18.9, 11.2, 20_000)
DELICIOUS, TATE = (12_920, 18.5, 19.0, 500), (52_922, 32.0, 6.14, 132_190)
HOME_DEPOT = (63_515, 67.8, 1.5, 2**18)


@pytest.mark.parametrize(
    ("rows", "cost", "n_buckets", "measured"),
    [
        (BIBTEX, 0.3, 100, 65_699),
        (BIBTEX, 3.0, 100, 124_222),
        (DELICIOUS, 0.1, 100, 26_550),
        (DELICIOUS, 1.0, 100, 37_118),
        (CITEULIKE, 0.1, 1000, 356_767),
        (CITEULIKE, 1.0, 1000, 3_004_502),
        (CITEULIKE, 0.3, 4000, 1_771_433),
        (TATE, 0.1, 100, 406_159),
        (TATE, 3.0, 100, 3_167_498),
        (HOME_DEPOT, 0.3, 1000, 690_000),
    ],
)
def test_the_formula_is_within_its_factor_of_measurements(
    rows: tuple[int, float, float, int], cost: float, n_buckets: int, measured: int
) -> None:
    n_rows, values, labels, d = rows
    expected = expected_weights(d, n_buckets, DataSize(n_rows, values, labels), cost)
    assert 1 / 1.75 < expected / measured < 1.75


def test_weights_grow_with_rows_and_cost_and_shrink_with_pruning() -> None:
    usual = expected_weights(20_000, 1000, ROWS, 1.0)
    assert expected_weights(20_000, 1000, DataSize(40_000, 20, 10), 1.0) > usual
    assert expected_weights(20_000, 1000, ROWS, 0.1) < usual < expected_weights(20_000, 1000, ROWS, 3.0)
    assert expected_weights(20_000, 1000, ROWS, 1.0, 0.3) < usual < expected_weights(20_000, 1000, ROWS, 1.0, 0.0)


def test_there_is_at_most_one_weight_for_each_feature_and_bucket() -> None:
    assert expected_weights(50, 10, DataSize(10**7, 20, 10), 1.0, 0.0) <= 50 * 10
    assert expected_weights(50, 10, DataSize(10**7, sparse=False), 1.0, 0.0) <= 50 * 10
    assert expected_weights(50, 10, DataSize()) == 0


def test_clustered_buckets_keep_less() -> None:
    assert (with_clusters(1000, 0.0), with_clusters(1000, 1.0), with_clusters(1000, 0.5)) == (1000, 850, 925)


@pytest.mark.parametrize(
    ("n_features", "n_buckets", "density", "bits"),
    [(300, 100, 0.3, 8), (300, 100, 0.3, 32), (100, 2000, 0.1, 8), (100, 3000, 0.001, 8), (1, 2, 1.0, 8)],
)
def test_stored_bytes_are_those_of_a_model(n_features: int, n_buckets: int, density: float, bits: int) -> None:
    model = LinearModel.join(
        parts_of(random_weights(n_features, n_buckets, density)), n_features, n_buckets, "squared_hinge", bits=bits
    )
    actual = sum(array.nbytes for array in model.arrays().values())
    assert 0.9 < stored_bytes(model.n_weights, n_features, n_buckets, bits) / actual < 1.1


def test_the_bytes_of_a_shape() -> None:
    shape = Shape(700, 1000, (), 100, 4, weights=5000)
    assert shape.parameters == 5000 + 100
    assert shape.repetition_bytes == 2 * 5000 + 4 * 1001 + 8 * 100
    assert shape.model_bytes == 4 * shape.repetition_bytes
    wide = Shape(700, 1000, (), 100, 4, weights=5000, weight_bits=32)
    assert wide.repetition_bytes - shape.repetition_bytes == 3 * 5000
