"""One step of the network: its gradients by numerical differentiation, dropout, laziness, decay, weights."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from xmach.learners import LabelledRows, NetworkSettings
from xmach.learners.network import NetworkTrainer, batch_loss
from xmach.learners.task import Batch
from xmach.types import DoubleArray, SparseRows

MakeRows = Callable[..., LabelledRows]
N, D, LABELS, BUCKETS = 9, 8, 30, 5
ALL = np.arange(N)
DEPTHS: list[tuple[int, ...]] = [(), (7,), (6, 5)]


def trainer_of(hidden: tuple[int, ...], loss: Any = "softmax", **options: Any) -> NetworkTrainer:
    """A trainer whose weights and biases are all random: the logistic one would start at zero."""
    trainer = NetworkTrainer(D, BUCKETS, NetworkSettings(hidden=hidden, loss=loss, **options), seed=3, repetition=1)
    draw = np.random.default_rng(8)
    for layer in trainer.layers:
        layer.weights[...] = draw.normal(0, 0.7, layer.weights.shape)
        layer.bias[...] = draw.normal(0, 0.3, layer.bias.shape)
    return trainer


def parameters(trainer: NetworkTrainer) -> list[DoubleArray]:
    return [array.astype(np.float64) for layer in trainer.layers for array in (layer.weights, layer.bias)]


def gradients(trainer: NetworkTrainer) -> list[DoubleArray]:
    """After one step from zero moments the first moment is (1 - beta1) times the gradient."""
    moments = [layer.moments[i] for layer in trainer.layers for i in (0, 2)]
    return [moment.astype(np.float64) / (1 - 0.9) for moment in moments]


def dense(rows: Any) -> DoubleArray:
    if not isinstance(rows, SparseRows):
        return rows.astype(np.float64)
    result = np.zeros(rows.shape)
    for i in range(rows.n_rows):
        columns, values = rows.row(i)
        result[i, columns] = values
    return result


def target_rows(rows: LabelledRows, loss: str) -> DoubleArray:
    """(n, B) from the labels themselves: each bucket's share of the label values; for bce the OR of its labels."""
    targets = np.zeros((rows.n_rows, BUCKETS))
    for i in range(rows.n_rows):
        ids, values = rows.labels.row(i)
        for bucket, value in zip(rows.hashes.buckets(ids, rows.repetition), values, strict=True):
            targets[i, bucket] += value / values.sum()
    return targets if loss == "softmax" else (targets > 0).astype(np.float64)


def mean_loss(arrays: list[DoubleArray], x: DoubleArray, targets: DoubleArray, weights: Any, loss: str) -> float:
    layer = x
    for depth in range(len(arrays) // 2):
        layer = (np.maximum(layer, 0) if depth else layer) @ arrays[2 * depth] + arrays[2 * depth + 1]
    if loss == "softmax":
        top = layer.max(axis=1, keepdims=True)
        entropy = -(targets * (layer - top - np.log(np.exp(layer - top).sum(axis=1, keepdims=True)))).sum(axis=1)
    else:
        entropy = (np.logaddexp(0, layer) - targets * layer).sum(axis=1)
    return float((weights.astype(np.float64) * entropy).sum() / len(x))


@pytest.mark.parametrize("hidden", DEPTHS)
@pytest.mark.parametrize("loss", ["softmax", "bce"])
@pytest.mark.parametrize("sparse", [True, False])
def test_gradients_by_numerical_differentiation(
    make_labelled: MakeRows, hidden: tuple[int, ...], loss: str, sparse: bool
) -> None:
    rows = make_labelled(N, D, LABELS, BUCKETS, sparse=sparse)
    batch = rows.batch(ALL)
    assert (np.diff(batch.targets.offsets) == 0).any()  # a row without labels
    assert (batch.targets.masses != 1).any()
    trainer = trainer_of(hidden, loss)
    arrays, x, targets = parameters(trainer), dense(batch.rows), target_rows(rows, loss)
    before = mean_loss(arrays, x, targets, batch.weights, loss)
    assert trainer.step(batch, 1e-3, (0, 0)) / N == pytest.approx(before, rel=1e-4)
    for array, gradient in zip(arrays, gradients(trainer), strict=True):
        numerical = np.empty_like(array)
        for place in np.ndindex(array.shape):
            value = array[place]
            array[place] = value + 1e-6
            above = mean_loss(arrays, x, targets, batch.weights, loss)
            array[place] = value - 1e-6
            numerical[place] = (above - mean_loss(arrays, x, targets, batch.weights, loss)) / 2e-6
            array[place] = value
        np.testing.assert_allclose(gradient, numerical, rtol=1e-3, atol=2e-6)


@pytest.mark.parametrize("hidden", DEPTHS)
@pytest.mark.parametrize("loss", ["softmax", "bce"])
def test_dense_and_sparse_rows_take_the_same_steps(make_labelled: MakeRows, hidden: tuple[int, ...], loss: str) -> None:
    trainers = [trainer_of(hidden, loss, weight_decay=0.1) for _ in range(2)]
    for step in range(5):
        losses = [
            trainer.step(make_labelled(N, D, LABELS, BUCKETS, sparse=sparse).batch(ALL), 1e-2, (0, step))
            for trainer, sparse in zip(trainers, (True, False), strict=True)
        ]
        assert losses[0] == pytest.approx(losses[1], rel=1e-4)
    for one, other in zip(*map(parameters, trainers), strict=True):  # every feature is in the batch: lazy is dense
        np.testing.assert_allclose(one, other, rtol=1e-3, atol=1e-5)


@pytest.mark.parametrize("hidden", DEPTHS)
@pytest.mark.parametrize("loss", ["softmax", "bce"])
@pytest.mark.parametrize("sparse", [True, False])
def test_steps_lower_the_loss(make_labelled: MakeRows, hidden: tuple[int, ...], loss: str, sparse: bool) -> None:
    batch, trainer = make_labelled(N, D, LABELS, BUCKETS, sparse=sparse).batch(ALL), trainer_of(hidden, loss)
    losses = [trainer.step(batch, 1e-3, (0, step)) for step in range(6)]
    assert losses == sorted(losses, reverse=True)
    assert losses[-1] < losses[0] - 1e-3


@pytest.mark.parametrize("loss", ["softmax", "bce"])
def test_the_loss_of_a_batch_without_learning(make_labelled: MakeRows, loss: str) -> None:
    batch, trainer = make_labelled(N, D, LABELS, BUCKETS).batch(ALL), trainer_of((7,), loss)
    before = [array.copy() for array in trainer.state().values()]
    asked = batch_loss(trainer.model(), batch)
    assert all(old.tobytes() == new.tobytes() for old, new in zip(before, trainer.state().values(), strict=True))
    assert asked == pytest.approx(trainer.step(batch, 1e-3, (0, 0)), rel=1e-6)


@pytest.mark.parametrize("loss", ["softmax", "bce"])
@pytest.mark.parametrize("sparse", [True, False])
def test_rows_of_weight_zero_have_no_influence(make_labelled: MakeRows, loss: str, sparse: bool) -> None:
    rows = make_labelled(N, D, LABELS, BUCKETS, sparse=sparse)
    batch = rows.batch(ALL)
    batch.weights[[1, 4]] = 0.0
    other = rows.batch(np.array([0, 7, 2, 3, 8, 5, 6, 7, 8]))  # other rows in their places
    other = Batch(other.rows, other.targets, batch.weights)
    one, two = trainer_of((6, 5), loss), trainer_of((6, 5), loss)
    assert one.step(batch, 1e-3, (0, 0)) == pytest.approx(two.step(other, 1e-3, (0, 0)), rel=1e-6)
    for mine, theirs in zip(gradients(one), gradients(two), strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-5, atol=1e-7)


def test_a_weight_of_two_is_the_row_twice(make_labelled: MakeRows) -> None:
    rows = make_labelled(N, D, LABELS, BUCKETS)
    once, twice = rows.batch(np.array([2, 3])), rows.batch(np.array([2, 3, 3]))
    once.weights[:], twice.weights[:] = [1, 2], 1
    one, two = trainer_of((7,)), trainer_of((7,))
    assert one.step(once, 1e-3, (0, 0)) == pytest.approx(two.step(twice, 1e-3, (0, 0)), rel=1e-5)
    for mine, theirs in zip(gradients(one), gradients(two), strict=True):  # a gradient is a mean over rows
        np.testing.assert_allclose(2 * mine, 3 * theirs, rtol=1e-4, atol=1e-6)


def test_features_that_the_batch_lacks_stay_as_they_are(make_labelled: MakeRows) -> None:
    trainer = trainer_of((7,), weight_decay=0.5)
    trainer.step(make_labelled(N, D, LABELS, BUCKETS).batch(ALL), 1e-2, (0, 0))  # moments are no longer zero
    rows = make_labelled(N, D, LABELS, BUCKETS)
    which = np.flatnonzero(np.diff(rows.features.indptr) == 2)[:1]
    absent = np.setdiff1d(np.arange(D), rows.batch(which).rows.indices)
    present = np.setdiff1d(np.arange(D), absent)
    assert len(present) == 2
    first = trainer.layers[0]
    before = [array.copy() for array in (first.weights, *first.moments[:2])]
    trainer.step(rows.batch(which), 1e-2, (0, 1))
    for old, new in zip(before, (first.weights, *first.moments[:2]), strict=True):
        assert old[absent].tobytes() == new[absent].tobytes()
        assert (old[present] != new[present]).any()


@pytest.mark.parametrize("sparse", [True, False])
def test_weight_decay_shrinks_weights_and_spares_biases(make_labelled: MakeRows, sparse: bool) -> None:
    batch, rate, decay = make_labelled(N, D, LABELS, BUCKETS, sparse=sparse).batch(ALL), 0.01, 0.5
    with_decay, without = trainer_of((7,), weight_decay=decay), trainer_of((7,))
    before = parameters(without)
    for trainer in (with_decay, without):
        trainer.step(batch, rate, (0, 0))
    for i, (old, shrunk, plain) in enumerate(zip(before, parameters(with_decay), parameters(without), strict=True)):
        expected = rate * decay * old if i % 2 == 0 else 0.0  # decoupled: w <- (1 - rate decay) w - step
        np.testing.assert_allclose(plain - shrunk, expected, atol=1e-6)


def test_the_first_step_of_every_parameter_has_the_length_of_the_rate(make_labelled: MakeRows) -> None:
    trainer = trainer_of((7,))
    before = parameters(trainer)
    trainer.step(make_labelled(N, D, LABELS, BUCKETS).batch(ALL), 0.01, (0, 0))
    for old, new, gradient in zip(before, parameters(trainer), gradients(trainer), strict=True):
        moved = np.abs(gradient) > 1e-3  # beside which epsilon is nothing
        np.testing.assert_allclose((new - old)[moved], -0.01 * np.sign(gradient[moved]), rtol=1e-3)  # bias correction


def test_the_bias_correction_of_later_steps(make_labelled: MakeRows) -> None:
    rows, trainer = make_labelled(N, D, LABELS, BUCKETS), trainer_of((7,))
    weights = trainer.layers[-1].weights
    first, second = (np.zeros_like(weights, np.float64) for _ in range(2))
    for t in range(1, 8):
        before, moment = weights.astype(np.float64), trainer.layers[-1].moments[0].astype(np.float64)
        trainer.step(rows.batch(ALL), 0.01, (0, t))
        gradient = (trainer.layers[-1].moments[0] - 0.9 * moment) / 0.1
        first, second = 0.9 * first + 0.1 * gradient, 0.999 * second + 0.001 * gradient**2
        expected = -0.01 * (first / (1 - 0.9**t)) / (np.sqrt(second / (1 - 0.999**t)) + 1e-8)
        big = np.abs(gradient) > 1e-3
        np.testing.assert_allclose((weights - before)[big], expected[big], rtol=0.01, atol=1e-6)


def test_dropout_keeps_the_expected_activation(make_labelled: MakeRows) -> None:
    batch = make_labelled(N, D, LABELS, BUCKETS).batch(ALL)
    plain, dropping = trainer_of((400,)), trainer_of((400,), dropout=0.25)
    expected = plain._forward(batch.rows, (0, 0))[0][0]
    draws = np.stack([dropping._forward(batch.rows, (0, step))[0][0].copy() for step in range(200)])
    assert (draws == 0).mean() == pytest.approx((expected == 0).mean() + 0.25 * (expected > 0).mean(), abs=0.01)
    kept = draws[:, expected > 0] / expected[expected > 0]
    assert set(np.unique(kept.round(4))) == {0.0, np.float32(1.3333)}
    # a mean of 200 draws of 0 or 4/3 has the standard error sqrt(0.25 / 0.75 / 200) = 0.041
    assert np.abs(kept.mean(axis=0) - 1).max() < 5 * math.sqrt(0.25 / 0.75 / 200)
    assert kept.mean() == pytest.approx(1.0, abs=0.01)


def test_dropout_masks_follow_from_their_position(make_labelled: MakeRows) -> None:
    batch = make_labelled(N, D, LABELS, BUCKETS).batch(ALL)
    trainer = trainer_of((6, 5), dropout=0.5)

    def masks(epoch: int, step: int) -> bytes:
        return b"".join(mask.tobytes() for mask in trainer._forward(batch.rows, (epoch, step))[2])

    first = masks(2, 3)
    assert masks(2, 3) == first
    assert len({first, masks(3, 2), masks(2, 4), masks(0, 3)}) == 4
    other = NetworkTrainer(D, BUCKETS, trainer.settings, seed=3, repetition=2)
    assert b"".join(mask.tobytes() for mask in other._forward(batch.rows, (2, 3))[2]) != first


@pytest.mark.parametrize("loss", ["softmax", "bce"])
def test_gradients_under_dropout_are_those_of_the_thinned_network(make_labelled: MakeRows, loss: str) -> None:
    rows = make_labelled(N, D, LABELS, BUCKETS)
    batch, trainer = rows.batch(np.array([3])), trainer_of((6, 5), loss, dropout=0.3)
    masks = [mask[0].astype(np.float64) for mask in trainer._forward(batch.rows, (1, 1))[2]]  # one row: one mask
    arrays = parameters(trainer)
    trainer.step(batch, 1e-3, (1, 1))
    thinned = [arrays[0], arrays[1], masks[0][:, None] * arrays[2], arrays[3], masks[1][:, None] * arrays[4], arrays[5]]
    x, targets = dense(batch.rows), target_rows(rows, loss)[3:4]
    for i, gradient in enumerate(gradients(trainer)):
        scale = {2: masks[0][:, None], 4: masks[1][:, None]}.get(i, 1.0)  # d loss / d w = mask * d loss / d (mask w)
        numerical = np.empty_like(gradient)
        for place in np.ndindex(gradient.shape):
            value = thinned[i][place]
            thinned[i][place] = value + 1e-6
            above = mean_loss(thinned, x, targets, batch.weights, loss)
            thinned[i][place] = value - 1e-6
            numerical[place] = (above - mean_loss(thinned, x, targets, batch.weights, loss)) / 2e-6
            thinned[i][place] = value
        np.testing.assert_allclose(gradient, scale * numerical, rtol=1e-3, atol=2e-6)


def test_a_batch_larger_or_smaller_or_without_features_than_the_last(make_labelled: MakeRows) -> None:
    rows, trainer = make_labelled(N, D, LABELS, BUCKETS), trainer_of((7,))
    for which in ([4], [0, 1], list(range(N)), [4], [2], list(range(N)) * 3):  # row 4 has no features
        assert math.isfinite(trainer.step(rows.batch(np.array(which)), 1e-3, (0, 0)))
    assert all(np.isfinite(array).all() for array in parameters(trainer))


def test_state_there_and_back(make_labelled: MakeRows) -> None:
    rows = make_labelled(N, D, LABELS, BUCKETS)
    trainer, other = (
        trainer_of((6, 5), dropout=0.2),
        NetworkTrainer(D, BUCKETS, NetworkSettings(hidden=(6, 5), dropout=0.2), 3, 1),
    )
    trainer.step(rows.batch(ALL), 1e-2, (0, 0))
    other.restore({name: array.copy() for name, array in trainer.state().items()})
    for each in (trainer, other):
        each.step(rows.batch(ALL), 1e-2, (0, 1))
    assert [a.tobytes() for a in trainer.state().values()] == [a.tobytes() for a in other.state().values()]
    assert trainer.steps_done == 2


def test_the_start_depends_on_seed_and_repetition_and_is_bounded() -> None:
    settings = NetworkSettings(hidden=(20,))
    starts = [
        NetworkTrainer(30, 10, settings, seed, r).layers[0].weights for seed, r in [(0, 0), (0, 1), (1, 0), (0, 0)]
    ]
    assert len({start.tobytes() for start in starts}) == 3
    assert starts[0].tobytes() == starts[3].tobytes()
    limit = math.sqrt(6 / 50)  # Glorot and Bengio 2010
    assert 0.9 * limit < np.abs(starts[0]).max() <= np.float32(limit)
    assert not NetworkTrainer(30, 10, NetworkSettings(hidden=()), 0, 0).layers[0].weights.any()
