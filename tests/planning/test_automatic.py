"""What `auto` decides, by the rows and by the other options."""

from __future__ import annotations

from typing import Any

import pytest

from xmach.config import MachConfig
from xmach.planning import RowFacts, decide, is_close, prefers_linear

TEXTS = RowFacts(n_labels=16_000, n_features=130_000, values_per_row=30.0, labels_per_row=6.0, rows_per_label=20.0)
TAGS = TEXTS._replace(labels_per_row=2.0)
PRODUCTS = TAGS._replace(labels_per_row=1.5, rows_per_label=1.2)
DENSE = RowFacts(n_labels=1000, n_features=500, values_per_row=500.0, labels_per_row=19.0, rows_per_label=250.0)


@pytest.mark.parametrize(
    ("rows", "options", "expected"),
    [
        (TEXTS, {}, {"learner": "linear", "linear_loss": "squared_hinge", "bucketing": "random", "n_repetitions": 8}),
        (TAGS, {}, {"learner": "linear", "linear_loss": "squared_hinge", "bucketing": "mixed", "n_buckets": 1000}),
        (TAGS, {"linear_loss": "logistic"}, {"bucketing": "random"}),  # Theorem 1 is for hashes
        (TAGS, {"n_repetitions": 1}, {"bucketing": "random"}),
        (TAGS, {"bucketing": "clustered"}, {"bucketing": "clustered"}),
        (PRODUCTS, {}, {"learner": "linear", "linear_loss": "softmax", "bucketing": "mixed"}),
        (PRODUCTS._replace(n_labels=10**6), {}, {"linear_loss": "softmax", "n_buckets": 2**29 // 130_000}),  # 6 GiB
        (PRODUCTS._replace(n_labels=10**6, n_features=2**20), {}, {"linear_loss": "squared_hinge", "n_buckets": 4000}),
        (PRODUCTS, {"cost": 1.0}, {"linear_loss": "squared_hinge"}),  # softmax has none
        (PRODUCTS, {"linear_loss": "squared_hinge"}, {"linear_loss": "squared_hinge"}),
        (TEXTS._replace(rows_per_label=1.2), {}, {"linear_loss": "squared_hinge"}),  # softmax needs one label per row
        (DENSE, {}, {"learner": "network", "bucketing": "random", "n_buckets": 300, "n_repetitions": 16}),
        (DENSE, {"learner": "linear"}, {"learner": "linear", "linear_loss": "both"}),
        (TAGS._replace(n_features=1800), {}, {"linear_loss": "both", "bucketing": "mixed"}),
        (TAGS._replace(n_features=1800), {"cost": 0.3}, {"linear_loss": "squared_hinge"}),
        (TEXTS, {"hidden": (64,)}, {"learner": "network", "bucketing": "random", "n_buckets": 2000}),
        (TEXTS, {"n_buckets": 77, "n_repetitions": 3}, {"n_buckets": 77, "n_repetitions": 3}),
    ],
)
def test_what_is_decided(rows: RowFacts, options: dict[str, Any], expected: dict[str, Any]) -> None:
    config = decide(MachConfig(**options), rows)
    assert {name: getattr(config, name) for name in expected} == expected


def test_the_better_learner_on_validation_rows_is_taken_unless_one_was_asked_for() -> None:
    assert decide(MachConfig(), DENSE, better="linear").learner == "linear"
    assert decide(MachConfig(), TEXTS, better="network").learner == "network"
    assert decide(MachConfig(learner="network"), DENSE, better="linear").learner == "network"


def test_rows_that_leave_it_open() -> None:
    assert is_close(DENSE)
    assert is_close(TEXTS._replace(n_features=1800))
    assert not is_close(TEXTS)
    assert prefers_linear(TEXTS._replace(n_features=1800))
    assert not prefers_linear(TEXTS._replace(n_features=500))


def test_an_estimator_that_was_asked_for_is_the_order_of_the_answers() -> None:
    rows = RowFacts(n_labels=5000, n_features=50_000, values_per_row=30.0, labels_per_row=5.0, rows_per_label=20.0)
    assert decide(MachConfig(), rows).ranker == "linear"
    assert decide(MachConfig(estimator="mean"), rows).ranker == "none"
    assert decide(MachConfig(estimator="mean", ranker="linear"), rows).ranker == "linear"


def test_a_network_gets_a_ranker_if_nobody_asked_for_the_network_and_rows_are_sparse() -> None:
    sparse = DENSE._replace(values_per_row=18.0)
    assert decide(MachConfig(), sparse).learner == "network"
    assert decide(MachConfig(), sparse).ranker == "linear"
    assert decide(MachConfig(), DENSE).ranker == "none"
    assert decide(MachConfig(ranker="linear"), DENSE).ranker == "linear"
    assert decide(MachConfig(), TEXTS, better="network").ranker == "linear"
    for options in ({"learner": "network"}, {"hidden": (64,)}, {"epochs": 3}, {"estimator": "log"}):
        assert decide(MachConfig(**options), sparse).ranker == "none"
