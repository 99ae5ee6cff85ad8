"""Sizes against the paper's figures and against arrays that are really made."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from xmach.buckets import UniversalHashes, invert
from xmach.errors import ParameterError
from xmach.planning import (
    human_bytes,
    inverted_index_bytes,
    network_parameters,
    one_vs_all_parameters,
    prediction_bytes,
    signature_bytes,
    training_bytes,
)
from xmach.planning.memory import INTERPRETER_BYTES


def test_odp_is_the_papers_1_2_gb_against_160() -> None:
    # Section 4.1: d = 422,713, K = 105,033; B = 32, R = 25, linear
    assert human_bytes(25 * 4 * network_parameters(422_713, (), 32)) == "1.26 GiB"
    assert human_bytes(4 * one_vs_all_parameters(422_713, (), 105_033)) == "165.40 GiB"


@pytest.mark.parametrize(("buckets", "billions"), [(10_000, 5.77), (20_000, 6.4)])
def test_amazon_search_is_the_papers_billions_of_parameters(buckets: int, billions: float) -> None:
    # 80K-2K-B, R = 32
    assert 32 * network_parameters(80_000, (2000,), buckets) / 1e9 == pytest.approx(billions, abs=0.01)


def test_network_parameters_are_those_of_the_arrays() -> None:
    shapes = [(7, 5), (5,), (5, 4), (4,), (4, 3), (3,)]
    assert network_parameters(7, (5, 4), 3) == sum(np.zeros(shape).size for shape in shapes)
    assert network_parameters(7, (), 3) == 7 * 3 + 3


def test_training_by_hand() -> None:
    first, rest = 1000 * 20, 20 + 20 * 30 + 30  # the first layer's weights; biases and the last layer
    adam, batch = 12 * (first + rest), 4 * 2 * 8 * (20 + 30)
    common = INTERPRETER_BYTES + adam + batch + 8 * 500
    assert training_bytes(1000, (20,), 30, 8, nonzeros_per_row=2.5, n_rows=500) == (
        common + 4 * rest + 16 * 20 + 4 * 1000
    )
    assert training_bytes(1000, (20,), 30, 8, sparse=False, n_rows=500) == common + 4 * (first + rest) + 4 * 8 * 1000


def test_training_a_large_network_is_mostly_adam() -> None:
    # Wiki10-31K's network: the sparse first layer keeps no gradient, so three copies and little more
    parameters = network_parameters(101_938, (500, 500), 2000)
    assert training_bytes(101_938, (500, 500), 2000, 100) - INTERPRETER_BYTES == pytest.approx(
        12 * parameters, rel=0.03
    )


def test_prediction_adds_up() -> None:
    shape = (1000, (20,), 300, 4)
    bare = prediction_bytes(*shape, 5000, batch_size=8, signatures=False)
    assert bare == INTERPRETER_BYTES + 4 * (4 * network_parameters(1000, (20,), 300) + 8 * 4 * 300 + 8 * (20 + 300))
    assert prediction_bytes(*shape, 5000, batch_size=8) == bare + 2 * 4 * 5000
    assert prediction_bytes(*shape, 5000, batch_size=8, inverted_index=True) == (
        bare + 2 * 4 * 5000 + inverted_index_bytes(5000, 300, 4)
    )
    assert prediction_bytes(*shape, 10**9, batch_size=8, signatures=False) == bare  # nothing grows with the labels


@pytest.mark.parametrize("buckets", [2, 256, 257, 65_536, 65_537])
def test_tables_are_as_large_as_those_that_are_made(buckets: int) -> None:
    hashes = UniversalHashes.draw(1000, buckets, 3, seed=0)
    index = invert(hashes)
    assert signature_bytes(1000, buckets, 3) == hashes.signatures().nbytes
    assert inverted_index_bytes(1000, buckets, 3) == index.offsets.nbytes + index.labels.nbytes


def test_fifty_million_labels_take_what_was_measured() -> None:
    assert signature_bytes(50_000_000, 20_000, 32) == 3_200_000_000
    assert inverted_index_bytes(50_000_000, 20_000, 32) == pytest.approx(6.4e9, rel=1e-2)


def test_numpy_integers_do_not_overflow() -> None:
    assert network_parameters(np.int32(2_000_000), (np.int32(2000),), np.int32(2)) == 2_000_000 * 2000 + 2000 + 4002


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"n_features": 0}, "n_features must be a whole number of at least 1, got 0"),
        ({"hidden": (500, 0)}, "hidden must be a whole number of at least 1, got 0"),
        ({"n_buckets": 2.5}, r"n_buckets must be a whole number of at least 1, got 2\.5"),
        ({"batch_size": 0}, "batch_size must be a whole number of at least 1, got 0"),
        ({"n_rows": -1}, "n_rows must be a whole number of at least 0, got -1"),
        ({"nonzeros_per_row": -1}, r"nonzeros_per_row must be a number in \[0, inf\), got -1"),
    ],
)
def test_parameters_refused(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        training_bytes(**({"n_features": 10, "hidden": (), "n_buckets": 2, "batch_size": 4} | arguments))
