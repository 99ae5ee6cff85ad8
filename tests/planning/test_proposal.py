"""Proposals fit, say why, and give up as little as they must."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from xmach.errors import ParameterError
from xmach.planning import (
    DataSize,
    Request,
    Shape,
    expected_weights,
    prediction_bytes,
    propose,
    pruned_one_vs_all,
    repetitions_needed,
    suggested_buckets,
    training_bytes,
    workers_within,
)

GB = 10**9
AMAZON = Request(n_labels=670_091, n_features=135_909, data=DataSize(490_449, 76, 5.5), workers=8)


def test_without_a_budget_the_defaults_of_training() -> None:
    proposal = propose(AMAZON)
    assert (proposal.shape.hidden, proposal.shape.n_repetitions) == ((500,), 16)
    assert proposal.shape.n_buckets == suggested_buckets(670_091) == 3300


def test_what_is_given_stays() -> None:
    given_ = replace(AMAZON, hidden=(300, 200), n_buckets=5000, n_repetitions=3, memory=40 * GB)
    assert propose(given_).shape == Shape(670_091, 135_909, (300, 200), 5000, 3)


@settings(deadline=None)  # on a busy machine
@given(
    st.integers(1, 2 * 10**6),
    st.integers(1, 10**6),
    st.sampled_from([None, (), (64,), (500, 500)]),
    st.one_of(st.none(), st.integers(2, 10**4)),
    st.integers(300 * 10**6, 8 * GB),
    st.integers(0, 10**6),
)
def test_a_proposal_fits_or_nothing_does(
    labels: int, features: int, hidden: tuple[int, ...] | None, buckets: int | None, memory: int, rows: int
) -> None:
    request = Request(labels, features, hidden, buckets, memory=memory, data=DataSize(rows), workers=4)
    try:
        proposal = propose(request)
    except ParameterError as error:
        assert "the least is" in str(error)  # noqa: PT017  # not every request is refused
        return
    shape, data = proposal.shape, request.data
    assert prediction_bytes(shape, data) <= memory
    assert proposal.training.total == training_bytes(shape, data, 256, proposal.training.workers) <= memory
    assert shape.n_repetitions >= repetitions_needed(labels, shape.n_buckets)


def test_a_smaller_budget_never_gives_a_larger_model() -> None:
    sizes = [propose(replace(AMAZON, memory=memory * GB // 10)).shape.model_bytes for memory in range(9, 60, 3)]
    assert sizes == sorted(sizes)
    assert sizes[0] < sizes[-1]


def test_repetitions_are_given_up_before_width() -> None:
    shape = propose(replace(AMAZON, memory=4 * GB)).shape
    assert (shape.hidden, shape.n_buckets) == ((500,), 3300)
    assert 8 <= shape.n_repetitions < 16


def test_reasons_say_why_and_what_would_not_fit() -> None:
    text = "\n".join(propose(replace(AMAZON, memory=2 * GB)).reasons)
    assert "B = 3,300: 4 sqrt(K)" in text
    assert "Theorem 2 asks for 5" in text
    assert "hidden = 256: the widest that fits" in text
    assert "135909-500-3300 x 16 would not fit into 1.86 GiB: training" in text
    assert "workers at a time" in text
    assert "would take" in text


def test_too_few_repetitions_are_said_to_be() -> None:
    reasons = propose(replace(AMAZON, n_repetitions=2)).reasons
    assert any(why.startswith("R = 2 was given") and "some pairs may share every bucket" in why for why in reasons)


def test_the_least_that_would_fit_is_told_and_fits() -> None:
    with pytest.raises(ParameterError, match=r"nothing fits into 286\.10 MiB: the least is [0-9.]+ MiB, for 135909-"):
        propose(replace(AMAZON, memory=300 * 10**6, data=DataSize()))
    with pytest.raises(ParameterError, match="the least is") as caught:
        propose(replace(AMAZON, memory=300 * 10**6))
    least = float(str(caught.value).split("the least is ")[1].split(" MiB")[0])
    assert propose(replace(AMAZON, memory=int((least + 0.01) * 2**20))).shape


@pytest.mark.parametrize(
    ("labels", "buckets"), [(1, 2), (2, 2), (10, 10), (159, 53), (983, 300), (52_946, 920), (49_462_358, 28_000)]
)
def test_suggested_buckets(labels: int, buckets: int) -> None:
    assert suggested_buckets(labels) == buckets


class TestWorkersWithin:
    shape, data = Shape(1000, 20_000, (100,), 200, 8), DataSize(5000)

    def test_as_many_as_fit(self) -> None:
        for workers in (1, 2, 5):
            needed = training_bytes(self.shape, self.data, 64, workers)
            assert workers_within(needed, self.shape, self.data, 64, most=8) == workers

    def test_no_more_than_asked_for(self) -> None:
        assert workers_within(100 * GB, self.shape, self.data, 64, most=3) == 3

    def test_not_even_one(self) -> None:
        needed = training_bytes(self.shape, self.data, 64)
        with pytest.raises(ParameterError, match="too little: training one repetition takes"):
            workers_within(needed - 1, self.shape, self.data, 64, most=2)

    def test_models_mapped_for_validation(self) -> None:
        many, data = replace(self.shape, n_repetitions=500), replace(self.data, n_validation=100)
        with pytest.raises(
            ParameterError, match=r"choosing the estimator on validation rows.*or take fewer repetitions"
        ):
            workers_within(GB, many, data, 64, most=2)


TEXTS = Request(n_labels=16_456, n_features=132_190, data=DataSize(52_922, 32, 6.1), learner="linear", cost=0.3)


def test_linear_buckets_have_no_hidden_layer_and_say_why() -> None:
    proposal = propose(TEXTS)
    shape = proposal.shape
    assert (shape.hidden, shape.n_buckets, shape.n_repetitions) == ((), 1000, 8)
    assert shape.weights == expected_weights(132_190, 1000, TEXTS.data, 0.3)
    assert "more than the 510 of 4 sqrt(K)" in proposal.reasons[0]
    assert "R = 8: Theorem 2 asks for 4" in proposal.reasons[1]
    assert not any("hidden" in reason for reason in proposal.reasons)


@pytest.mark.parametrize(("n_labels", "n_buckets"), [(2, 2), (100, 66), (983, 655), (52_946, 1000), (670_091, 3300)])
def test_linear_buckets_are_1000_if_each_has_labels_enough(n_labels: int, n_buckets: int) -> None:
    assert propose(replace(TEXTS, n_labels=n_labels)).shape.n_buckets == n_buckets


def test_linear_repetitions_are_4_to_8() -> None:
    assert propose(replace(TEXTS, n_buckets=20)).shape.n_repetitions == 8  # Theorem 2 asks for 9
    least = propose(TEXTS).peak
    found = {propose(replace(TEXTS, memory=least - saved)).shape.n_repetitions for saved in range(1, 6 * 2**20, 2**19)}
    assert found <= {4, 5, 6, 7}
    assert propose(replace(TEXTS, n_repetitions=3)).shape.n_repetitions == 3


def test_clustered_repetitions_keep_fewer_weights() -> None:
    hashed, mixed, clustered = (
        propose(replace(TEXTS, bucketing=name)).shape.weights for name in ("random", "mixed", "clustered")
    )
    assert (hashed or 0) > (mixed or 0) > (clustered or 0)


def test_an_assumed_cost_is_told() -> None:
    reasons = propose(replace(TEXTS, cost=None)).reasons
    assert any("the cost is chosen on held-out rows" in reason for reason in reasons)


def test_one_vs_all_pruned_alike() -> None:
    shape = pruned_one_vs_all(TEXTS)
    assert (shape.n_buckets, shape.n_repetitions) == (16_456, 1)
    assert shape.model_bytes < propose(TEXTS).shape.model_bytes


def test_logistic_losses_keep_more_weights() -> None:
    hinge, both, logistic = (
        propose(replace(TEXTS, linear_loss=loss, n_repetitions=4)).shape.weights or 0
        for loss in ("squared_hinge", "both", "logistic")
    )
    assert both == pytest.approx(1.75 * hinge, rel=1e-4)
    assert logistic == pytest.approx(2.5 * hinge, rel=1e-4)
    alone = pruned_one_vs_all(replace(TEXTS, linear_loss="both")).weights or 0
    assert alone == pytest.approx(1.75 * (pruned_one_vs_all(TEXTS).weights or 0), rel=1e-4)


def test_buckets_trained_together_are_as_many_as_memory_has_room_for() -> None:
    few = Request(50_000, 80_000, data=DataSize(60_000, 15, 1), learner="linear", linear_loss="softmax")
    many = propose(replace(few, n_labels=10**6, n_features=2**18))
    assert propose(few).shape.n_buckets == 1780
    assert "8 sqrt(K)" in propose(few).reasons[0]
    assert many.shape.n_buckets == 2048
    assert "as many as 536,870,912 weights of all features have room for" in many.reasons[0]
    assert many.training.total < 8 * 10**9
