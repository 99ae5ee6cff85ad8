"""Which buckets, repetitions and hidden layers: from the number of labels alone, or such that a budget holds them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import floor, log10, sqrt

from xmach.buckets import RANDOM, clustered_repetitions
from xmach.config import LINEAR, NETWORK, NONE, SOFTMAX, SQUARED_HINGE
from xmach.errors import ParameterError
from xmach.parameters import whole
from xmach.planning.data_size import UNKNOWN, DataSize
from xmach.planning.linear_proposal import (
    linear_buckets,
    linear_repetitions,
    linear_shape,
    why_linear_buckets,
    why_linear_repetitions,
    why_weights,
)
from xmach.planning.memory import TrainingMemory, prediction_bytes, training_memory
from xmach.planning.ranker_sizes import RankerSize, expected_ranker
from xmach.planning.sizes import Shape
from xmach.planning.theory import repetitions_needed
from xmach.planning.units import human_bytes

HIDDEN: tuple[tuple[int, ...], ...] = ((500,), (256,), (128,), (64,), (32,), ())  # wide to narrow; () is linear
GOOD_REPETITIONS, FAIR_REPETITIONS = 16, 8  # precision saturates at the one and rises fast up to the other
ENOUGH_BUCKETS = 300  # proposed for few labels, too, if each bucket has 3 of them
FEWEST_BUCKETS = 32  # of a proposal; the paper's ODP has as few


@dataclass(frozen=True)
class Request:
    """What is given and what is to be proposed (None)."""

    n_labels: int
    n_features: int
    hidden: tuple[int, ...] | None = None
    n_buckets: int | None = None
    n_repetitions: int | None = None
    delta: float = 1e-3
    batch_size: int = 256
    data: DataSize = UNKNOWN
    memory: int | None = None  # bytes that training and predicting may take; None: as much as they want
    workers: int = 1  # repetitions at a time; with a budget, the most of them
    bucketing: str = RANDOM  # or `mixed`, `clustered`, which keep tables of size K
    learner: str = NETWORK  # or `linear`: sparse linear buckets, without hidden layers
    linear_loss: str = SQUARED_HINGE  # of linear buckets
    cost: float | None = None  # of linear buckets; None: chosen while training
    prune_below: float = 0.1  # of linear buckets
    weight_bits: int = 8  # of linear buckets
    ranker: str = NONE
    ranker_bytes: int | None = None  # the most that it may take on disk

    @property
    def joint(self) -> bool:
        """Whether the linear buckets of a repetition are trained together."""
        return self.learner == LINEAR and self.linear_loss == SOFTMAX

    @property
    def expected_ranker(self) -> RankerSize | None:
        """The ranker's size; None without rows, which decide it."""
        if self.ranker == NONE or not self.data.n_rows:
            return None
        return expected_ranker(self.ranker, self.n_labels, self.n_features, self.data, self.ranker_bytes)


@dataclass(frozen=True)
class Proposal:
    """A plan with its memory, and why it is this one."""

    shape: Shape
    training: TrainingMemory
    prediction: int
    hashing: tuple[str, ...] = ()  # why this B and R
    network: tuple[str, ...] = ()  # why these layers and workers, and what would not fit

    @property
    def reasons(self) -> tuple[str, ...]:
        """All of it, in words."""
        return self.hashing + self.network

    @property
    def peak(self) -> int:
        """The larger of what training one repetition at a time and predicting take."""
        return max(self.training.total, self.prediction)


def suggested_buckets(n_labels: int) -> int:
    """4 sqrt(K), but at least 300 if each of them still has 3 labels; in two digits.

    That is 920 for citeulike_t, whose best of two was 1,000, 300 for delicious (150 to 300 were good), and 28,000 for
    the paper's 50 million products (20,000 there).
    """
    wish = max(2.0, 4.0 * sqrt(whole("n_labels", n_labels, 1)), min(ENOUGH_BUCKETS, n_labels // 3))
    unit = int(10 ** max(0, floor(log10(wish)) - 1))
    return max(2, min(n_labels, round(wish / unit) * unit))


def propose(request: Request) -> Proposal:
    """The best plan that fits: it gives up repetitions down to 8 first, then width, then buckets, then repetitions."""
    first = fitting = None
    least: Proposal | None = None
    for shape in _candidates(request):
        plan = _weigh(request, shape)
        first = first or plan
        least = plan if least is None or plan.peak < least.peak else least
        if request.memory is None or plan.peak <= request.memory:
            fitting = plan
            break
    assert first is not None
    assert least is not None
    if fitting is None:
        raise ParameterError(
            f"nothing fits into {human_bytes(request.memory or 0)}: the least is {human_bytes(least.peak)}, for "
            f"{least.shape} ({_parts(least)}); give more memory, hash features down, or fix less"
        )
    workers = request.workers
    if request.memory is not None:
        workers = workers_within(request.memory, fitting.shape, request.data, request.batch_size, request.workers)
    training = training_memory(fitting.shape, request.data, request.batch_size, workers)
    hashing = tuple(_why_hashing(request, fitting.shape))
    network = (*_why_layers(request, fitting.shape), *_why_memory(request, first, fitting, training))
    return Proposal(fitting.shape, training, fitting.prediction, hashing, network)


def workers_within(budget: int, shape: Shape, data: DataSize, batch_size: int, most: int) -> int:
    """How many repetitions at a time, up to `most`, a run can train within a budget; an error if none fits."""
    one = training_memory(shape, data, batch_size)
    if one.total > budget:
        phase, advice = "training one repetition", "a smaller hidden layer, fewer buckets, or fewer features"
        advice = "fewer rows or fewer features" if shape.weights is not None else advice
        if one.settling > max(one.training, budget):
            phase, advice = "choosing the estimator on validation rows, which maps all models,", "fewer repetitions"
        if one.ranking > max(one.training, one.preparing, one.choosing, one.settling, budget):
            phase, advice = "training the ranker", "fewer rows or features, or ranker none"
        raise ParameterError(
            f"{human_bytes(budget)} of memory are too little: {phase} takes {human_bytes(one.total)}; "
            f"give that much, or take {advice}"
        )
    workers = 1
    while workers < most and training_memory(shape, data, batch_size, workers + 1).total <= budget:
        workers += 1
    return workers


def _candidates(request: Request) -> Iterator[Shape]:
    """Plans from the best to the least, of which the first that fits is taken."""
    if request.learner == LINEAR:
        for n_buckets in _bucket_choices(request, ()):
            given = request.n_repetitions
            for n_repetitions in linear_repetitions(request, n_buckets) if given is None else (given,):
                yield linear_shape(request, n_buckets, n_repetitions)
        return
    widths = HIDDEN if request.hidden is None else (request.hidden,)
    for floor_ in (FAIR_REPETITIONS, 1):  # below 8 repetitions only where nothing else helps
        for hidden in widths:
            for n_buckets in _bucket_choices(request, hidden):
                needed = repetitions_needed(request.n_labels, n_buckets, request.delta)
                highest, lowest = max(GOOD_REPETITIONS, needed), max(floor_, needed)
                choices = range(highest, lowest - 1, -1) if request.n_repetitions is None else (request.n_repetitions,)
                for n_repetitions in choices:
                    tables = len(clustered_repetitions(request.bucketing, n_repetitions))
                    ranker = request.expected_ranker
                    yield Shape(
                        request.n_labels, request.n_features, hidden, n_buckets, n_repetitions, tables, ranker=ranker
                    )


def _bucket_choices(request: Request, hidden: tuple[int, ...]) -> Iterator[int]:
    """The wish and its halves; to the fewest only for linear models, all of whose weights are buckets'."""
    if request.n_buckets is not None:
        yield request.n_buckets
        return
    wish = suggested_buckets(request.n_labels)
    if request.learner == LINEAR:
        wish = linear_buckets(request.n_labels, wish, joint=request.joint, n_features=request.n_features)
    fewest = min(wish, FEWEST_BUCKETS if not hidden or request.hidden is not None else max(FEWEST_BUCKETS, wish // 4))
    while wish > fewest:
        yield wish
        wish //= 2
    yield fewest


def _weigh(request: Request, shape: Shape) -> Proposal:
    training = training_memory(shape, request.data, request.batch_size)
    return Proposal(shape, training, prediction_bytes(shape, request.data))


def _parts(plan: Proposal) -> str:
    return f"training {human_bytes(plan.training.total)}, predicting {human_bytes(plan.prediction)}"


def _why_hashing(request: Request, shape: Shape) -> Iterator[str]:
    """Where B and R come from."""
    K, B, R = shape.n_labels, shape.n_buckets, shape.n_repetitions
    needed = repetitions_needed(K, B, request.delta)
    if request.n_buckets is None and request.learner == LINEAR:
        yield why_linear_buckets(request, shape, suggested_buckets(K))
    elif request.n_buckets is None:
        wish = suggested_buckets(K)
        of = _why_wish(K) if wish == B else f"less than {wish:,}, {_why_wish(K)}, to fit"
        yield f"B = {B:,}: {of}, about {K / B:,.0f} labels a bucket; more cost output weights, fewer mix more labels"
    theorem = f"Theorem 2 asks for {needed}, so that all pairs of labels differ with probability 1 - {request.delta:g}"
    if request.n_repetitions is None and request.learner == LINEAR:
        yield why_linear_repetitions(shape, theorem)
    elif request.n_repetitions is None and needed < R:
        yield f"R = {R}: {theorem}; precision goes on rising to about {GOOD_REPETITIONS}"
    elif request.n_repetitions is None:
        yield f"R = {R}: {theorem}"
    elif needed > R:
        yield f"R = {R} was given: {theorem}; some pairs may share every bucket, see the expected number"
    else:
        yield f"R = {R} was given: {theorem}"
    if shape.n_tables:
        yield (
            f"{shape.n_tables} of {R} repetitions have buckets of labels that are alike, which are tables; all that is "
            "said of pairs and rivals is said of hashes, as if every repetition had them"
        )


def _why_wish(n_labels: int) -> str:
    return (
        "4 sqrt(K)"
        if 4 * sqrt(n_labels) >= min(ENOUGH_BUCKETS, n_labels // 3)
        else "more than 4 sqrt(K), as labels are few"
    )


def _why_layers(request: Request, shape: Shape) -> Iterator[str]:
    if request.learner == LINEAR:
        yield from why_weights(request, shape)
    elif request.hidden is None and shape.hidden:
        better = "as wide as `xmach train` makes it" if shape.hidden == HIDDEN[0] else "the widest that fits"
        yield f"hidden = {','.join(map(str, shape.hidden))}: {better}; it costs d x H weights a repetition"
    elif request.hidden is None:
        yield "hidden = none: no hidden layer fits; logistic regression, as in the paper's ODP and ImageNet"
    if shape.ranker is not None:
        yield (
            f"the ranker is expected to take {human_bytes(shape.ranker_bytes)} on disk: within a factor of about 3; "
            "--ranker none leaves it out"
        )


def _why_memory(request: Request, first: Proposal, fitting: Proposal, training: TrainingMemory) -> Iterator[str]:
    """What did not fit, what does, and how many at a time."""
    if request.data.n_rows == 0:
        yield "rows were not given: pages of the mapped data files are not counted"
    if request.memory is None:
        return
    budget = human_bytes(request.memory)
    if first.shape != fitting.shape:
        yield f"{first.shape} would not fit into {budget}: {_parts(first)}"
    yield f"{fitting.shape} fits into {budget}: {_parts(fitting)}"
    more = training.workers + 1
    what = f"{training.workers} worker{'s' if training.workers > 1 else ''} at a time"
    if training.workers == request.workers:
        yield f"{what}, as many as there may be: {human_bytes(training.total)}"
    else:
        beyond = training_memory(fitting.shape, request.data, request.batch_size, more).total
        yield f"{what}: {human_bytes(training.total)}; {more} would take {human_bytes(beyond)}"
