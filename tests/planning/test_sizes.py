"""Sizes and operations against the paper's figures and against arrays that are really made."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from xmach.buckets import UniversalHashes, new_tables
from xmach.errors import ParameterError
from xmach.models import NetworkModel
from xmach.planning import (
    Shape,
    costs,
    human_bytes,
    inverted_index_bytes,
    network_parameters,
    one_vs_all_operations,
    one_vs_all_parameters,
    query_operations,
    signature_bytes,
)

ODP = Shape(105_033, 422_713, (), 32, 25)


def test_odp_is_the_papers_1_2_gb_against_160() -> None:
    # Section 4.1: d = 422,713, K = 105,033; B = 32, R = 25, linear
    bill = costs(ODP, 100)
    assert human_bytes(bill.bytes) == "1.26 GiB"
    assert human_bytes(bill.one_vs_all_bytes) == "165.40 GiB"
    assert round(bill.reduction) == 131
    assert costs(Shape(105_033, 422_713, (), 4, 50), 100).bytes / 2**30 == pytest.approx(0.31, abs=0.005)


def test_operations_are_the_papers() -> None:
    # Section 2.2: R B d + K R against K d
    assert query_operations(ODP) == 25 * 32 * 422_713 + 105_033 * 25
    assert one_vs_all_operations(ODP) == 105_033 * 422_713
    network = Shape(1000, 50, (20, 10), 30, 4)
    assert query_operations(network) == 4 * (50 * 20 + 20 * 10 + 10 * 30) + 1000 * 4
    assert query_operations(network, nonzeros=7) == 4 * (7 * 20 + 20 * 10 + 10 * 30) + 1000 * 4
    assert query_operations(network, nonzeros=70) == query_operations(network)  # a row has no more values than columns
    assert one_vs_all_operations(network, nonzeros=7) == 7 * 20 + 20 * 10 + 10 * 1000


@pytest.mark.parametrize(("buckets", "billions"), [(10_000, 5.77), (20_000, 6.4)])
def test_amazon_search_is_the_papers_billions_of_parameters(buckets: int, billions: float) -> None:
    # 80K-2K-B, R = 32
    assert costs(Shape(49_462_358, 80_000, (2000,), buckets, 32), 10).parameters / 1e9 == pytest.approx(
        billions, abs=0.01
    )


def test_parameters_are_those_of_a_model() -> None:
    widths = (7, 5, 4, 3)
    weights = tuple(np.zeros(pair, np.float32) for pair in pairwise(widths))
    model = NetworkModel(weights, tuple(np.zeros(width, np.float32) for width in widths[1:]), "softmax")
    assert Shape(10, 7, (5, 4), 3, 2).repetition_bytes == sum(array.nbytes for array in model.arrays().values())
    assert network_parameters(7, (), 3) == 7 * 3 + 3
    assert one_vs_all_parameters(7, (5,), 10) == network_parameters(7, (5,), 10)


@pytest.mark.parametrize("buckets", [2, 256, 257, 65_536, 65_537])
def test_tables_are_as_large_as_those_that_are_made(buckets: int) -> None:
    hashes = UniversalHashes.draw(1000, buckets, 3, seed=0)
    tables = new_tables(hashes)
    assert signature_bytes(1000, buckets, 3) == tables.signatures.nbytes == hashes.signatures().nbytes
    assert inverted_index_bytes(1000, buckets, 3) == tables.offsets.nbytes + tables.labels.nbytes


def test_fifty_million_labels_take_what_was_measured() -> None:
    assert signature_bytes(50_000_000, 20_000, 32) == 3_200_000_000
    assert inverted_index_bytes(50_000_000, 20_000, 32) == pytest.approx(6.4e9, rel=1e-2)


def test_numpy_integers_do_not_overflow() -> None:
    large = Shape(np.int32(5), np.int32(2_000_000), (np.int32(2000),), np.int32(2), np.int32(3))
    assert large.parameters == 2_000_000 * 2000 + 2000 + 4002
    assert large.model_bytes == 3 * 4 * large.parameters


def test_a_shape_prints_its_widths() -> None:
    assert str(Shape(1000, 50, (20,), 30, 4)) == "50-20-30 x 4"


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ((0, 10, (), 2, 1), "n_labels must be a whole number of at least 1, got 0"),
        ((5, 0, (), 2, 1), "n_features must be a whole number of at least 1, got 0"),
        ((5, 10, (500, 0), 2, 1), "hidden must be a whole number of at least 1, got 0"),
        ((5, 10, (), 1, 1), "n_buckets must be a whole number of at least 2, got 1"),
        ((5, 10, (), 2, 0), "n_repetitions must be a whole number from 1 to 100000, got 0"),
    ],
)
def test_shapes_refused(fields: tuple[int, int, tuple[int, ...], int, int], message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        Shape(*fields)
