"""Which buckets and repetitions for sparse linear buckets, and why."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from xmach.buckets import clustered_repetitions
from xmach.planning.linear_sizes import TYPICAL_COST, kept_weights
from xmach.planning.sizes import Shape
from xmach.planning.theory import repetitions_needed
from xmach.planning.units import human_bytes

if TYPE_CHECKING:
    from xmach.planning.proposal import Request

LINEAR_BUCKETS = 1000  # proposed if there are half as many labels again, even if 4 sqrt(K) is less
LINEAR_REPETITIONS, FEWEST_LINEAR = 8, 4  # proposed; at least, if memory is short
JOINT_WEIGHTS = 2**29  # d x B at most, if buckets are trained together: 6 GiB with Adam's moments


def linear_buckets(n_labels: int, usual: int, *, joint: bool = False, n_features: int = 1) -> int:
    """B for linear buckets; `usual` is what a network would get.

    If a repetition's buckets are trained together, by softmax, twice as many: on Home Depot, 2,000 buckets found 74.0 %
    of the right products among the first 100, and 1,000 found 70.5 % (R = 8, held-out queries). But not more than
    memory has room for: all d x B weights are trained at once.
    """
    if joint:
        return max(2, min(n_labels, 2 * usual, JOINT_WEIGHTS // max(1, n_features)))
    return max(usual, min(LINEAR_BUCKETS, 2 * n_labels // 3))


def fits_joint(n_features: int, usual: int) -> bool:
    """Whether buckets can be trained together: if there is room for a quarter of the usual number at least."""
    return JOINT_WEIGHTS // max(1, n_features) >= usual // 4


def linear_repetitions(request: Request, n_buckets: int) -> range:
    """The numbers of repetitions to try, from the best to the fewest."""
    needed = repetitions_needed(request.n_labels, n_buckets, request.delta)
    return range(LINEAR_REPETITIONS, min(LINEAR_REPETITIONS, max(FEWEST_LINEAR, needed)) - 1, -1)


def linear_shape(request: Request, n_buckets: int, n_repetitions: int, cost: float | None = None) -> Shape:
    """The model, with the weights that it is expected to keep; `cost` instead of the request's."""
    tables = len(clustered_repetitions(request.bucketing, n_repetitions))
    weights = kept_weights(
        request.n_features, n_buckets, request.data, request.linear_loss,
        cost or request.cost or TYPICAL_COST, request.prune_below, tables / n_repetitions,
    )  # fmt: skip
    return Shape(
        request.n_labels, request.n_features, (), n_buckets, n_repetitions, tables,
        weights=weights, weight_bits=request.weight_bits, joint=request.joint, ranker=request.expected_ranker,
    )  # fmt: skip


def pruned_one_vs_all(request: Request) -> Shape:
    """One linear classifier for each label, trained and pruned in the same way."""
    alone = Shape(request.n_labels, request.n_features, (), max(2, request.n_labels), 1)
    weights = kept_weights(
        request.n_features, alone.n_buckets, request.data, request.linear_loss,
        request.cost or TYPICAL_COST, request.prune_below,
    )  # fmt: skip
    return Shape(
        alone.n_labels, alone.n_features, (), alone.n_buckets, 1, weights=weights, weight_bits=request.weight_bits
    )


def why_linear_buckets(request: Request, shape: Shape, usual: int) -> str:
    """Where B comes from."""
    n_buckets = shape.n_buckets
    wish = linear_buckets(shape.n_labels, usual, joint=request.joint, n_features=shape.n_features)
    each = f"about {shape.n_labels / n_buckets:,.0f} labels a bucket"
    if n_buckets < wish:
        return f"B = {n_buckets:,}: less than {wish:,}, to fit; {each}"
    if wish == usual:
        return f"B = {n_buckets:,}: 4 sqrt(K), {each}"
    if request.joint and wish < min(shape.n_labels, 2 * usual):
        return f"B = {n_buckets:,}: as many as {JOINT_WEIGHTS:,} weights of all features have room for; {each}"
    if request.joint:
        return f"B = {n_buckets:,}: 8 sqrt(K), {each}; twice as many as for other losses, as softmax gains from them"
    return (
        f"B = {n_buckets:,}: more than the {usual:,} of 4 sqrt(K), {each}; more linear buckets hardly make the "
        "model larger, because a row gives weights mostly to the buckets of its labels"
    )


def why_linear_repetitions(shape: Shape, theorem: str) -> str:
    """Where R comes from."""
    each = f"{human_bytes(shape.repetition_bytes)} and " if shape.weights else ""
    return (
        f"R = {shape.n_repetitions}: {theorem}; {FEWEST_LINEAR} to {LINEAR_REPETITIONS} are proposed for linear "
        f"buckets, as each repetition takes {each}as long as the first"
    )


def why_weights(request: Request, shape: Shape) -> Iterator[str]:
    """What the expected weights rest on."""
    better = "" if request.joint else ". `xmach train` logs a better estimate once it has chosen the cost"
    yield (
        f"{shape.weights:,} weights a repetition are expected from the rows, values and labels: within a factor of "
        f"about 2{better}"
    )
    if request.joint:
        yield (
            "the loss is softmax, because labels have few rows: while a repetition is trained, it has all d x B "
            "weights with two Adam moments each"
        )
    elif request.cost is None:
        low, high = (
            linear_shape(request, shape.n_buckets, shape.n_repetitions, cost).model_bytes for cost in (0.1, 3.0)
        )
        yield (
            f"the cost is chosen on held-out rows; {TYPICAL_COST:g} is assumed here. 0.1 would make a model of "
            f"{human_bytes(low)}, 3 of {human_bytes(high)}"
        )
