"""The models and rows that the memory benchmark trains and answers."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from xmach.config import LINEAR_RANKER, NONE, PROFILE
from xmach.planning import DataSize, Shape, expected_ranker, expected_weights, softmax_weights
from xmach.planning.linear_sizes import TYPICAL_COST


@dataclass(frozen=True)
class Case:
    """A model and the made-up rows to train it on, for one epoch."""

    shape: Shape
    data: DataSize
    batch_size: int = 256
    workers: int = 1
    cost: float | None = None  # of linear buckets; None: chosen, as passes are
    ranker: str = NONE
    ranker_bytes: int | None = None
    titles: bool = False  # whether labels have texts
    stored: bool = True  # or trained in memory


# In every one each feature occurs: an untouched Adam moment would take no memory.
TRAINING = {
    "ODP, linear": Case(Shape(105_033, 422_713, (), 32, 1), DataSize(30_000, 100)),
    "Wiki10-31K": Case(Shape(30_938, 101_938, (500, 500), 2000, 1), DataSize(6000, 200, 18), batch_size=100),
    "search, batch of 512": Case(Shape(100_000, 80_000, (256,), 5000, 1), DataSize(60_000, 30, 3), batch_size=512),
    "citeulike_t": Case(Shape(52_946, 20_000, (500,), 2000, 1), DataSize(20_000, 60, 5)),
    "full rows of 500": Case(Shape(200, 500, (64,), 50, 1), DataSize(6000, 500, 2)),
    "validation rows": Case(Shape(20_000, 40_000, (500,), 1000, 2), DataSize(20_000, 60, 3, n_validation=2000)),
    "8 models on validation rows": Case(Shape(5000, 20_000, (500,), 1000, 8), DataSize(6000, 60, 3, n_validation=4000)),
    "table of numbers": Case(Shape(1000, 100, (256,), 100, 1), DataSize(40_000, sparse=False, source="table")),
    "text": Case(Shape(5000, 80_000, (128,), 500, 1), DataSize(50_000, 44, 3, source="text")),  # 12 words a row
    "2 workers": Case(Shape(20_000, 40_000, (500,), 1000, 2), DataSize(20_000, 60, 3), workers=2),
}
PREDICTION = {
    "citeulike_t": Case(Shape(52_946, 20_000, (500,), 2000, 4), DataSize(3000, 60, 5)),
    "ODP, linear": Case(Shape(105_033, 422_713, (), 32, 12), DataSize(10_000, 60)),
    "3 million labels": Case(Shape(3_000_000, 5000, (64,), 1000, 8), DataSize(100, 30, 2)),
}


def linear_case(
    n_labels: int, n_features: int, n_buckets: int, n_repetitions: int, data: DataSize, workers: int = 1
) -> Case:
    """Sparse linear buckets; cost and passes are chosen unless `data` says otherwise."""
    cost = None if data.choosing else 1.0
    weights = expected_weights(n_features, n_buckets, data, cost or TYPICAL_COST)
    shape = Shape(n_labels, n_features, (), n_buckets, n_repetitions, weights=weights)
    return Case(shape, data, workers=workers, cost=cost)


_MANY = DataSize(500_000, 40, 2)
_LEFT_OUT = DataSize(100_000, 25, 2, choosing=True)  # with one worker, no figure of the planner was settled on them
LINEAR_TRAINING = {
    "linear buckets, chosen": linear_case(20_000, 20_000, 1000, 1, DataSize(20_000, 60, 3, choosing=True)),
    "linear buckets, chosen, 2^18 features": linear_case(
        20_000, 2**18, 1000, 1, DataSize(20_000, 60, 3, choosing=True)
    ),
    "linear buckets, 2^18 features": linear_case(20_000, 2**18, 1000, 1, DataSize(20_000, 60, 3)),
    "linear buckets, 500,000 rows": linear_case(20_000, 20_000, 128, 1, _MANY),
    "linear buckets, 500,000 rows, 2^18 features": linear_case(20_000, 2**18, 128, 1, _MANY),
    "linear buckets, 2 workers": linear_case(20_000, 20_000, 1000, 2, DataSize(20_000, 60, 3), workers=2),
    "linear buckets, 2 workers, 2^18 features": linear_case(20_000, 2**18, 1000, 2, DataSize(20_000, 60, 3), workers=2),
    "linear buckets, 2 workers, 500,000 rows": linear_case(20_000, 2**18, 128, 2, _MANY, workers=2),
    "linear buckets, 2 workers, 100,000 rows": linear_case(5000, 60_000, 300, 2, _LEFT_OUT, workers=2),
    "linear buckets, left out": linear_case(5000, 60_000, 300, 2, _LEFT_OUT),
    "linear buckets, left out, 2 workers": linear_case(8000, 40_000, 600, 3, DataSize(60_000, 30, 3), workers=2),
}
LINEAR_PREDICTION = {
    "linear buckets": linear_case(52_946, 20_000, 2000, 6, DataSize(20_000, 20, 11)),
    "linear buckets, 2^18 features": linear_case(20_000, 2**18, 1000, 6, DataSize(20_000, 60, 3)),
    "linear buckets, left out": linear_case(5000, 60_000, 300, 4, _LEFT_OUT),
}


def _softmax(
    n_labels: int, n_features: int, n_buckets: int, n_repetitions: int, data: DataSize, workers: int = 1
) -> Case:
    """Linear buckets that are trained together."""
    weights = softmax_weights(n_features, n_buckets, data)
    shape = Shape(n_labels, n_features, (), n_buckets, n_repetitions, weights=weights, joint=True)
    return Case(shape, data, workers=workers)


SOFTMAX_TRAINING = {
    "softmax buckets": _softmax(30_000, 20_000, 1000, 1, DataSize(30_000, 40, 1)),
    "softmax buckets, 80,000 features": _softmax(50_000, 80_000, 1500, 1, DataSize(60_000, 15, 1)),
    "softmax buckets, many rows": _softmax(100_000, 10_000, 300, 1, DataSize(300_000, 20, 1)),
    "softmax buckets, 2 workers": _softmax(30_000, 40_000, 800, 2, DataSize(40_000, 30, 1), workers=2),
}


def _ranked(
    n_labels: int,
    n_features: int,
    n_buckets: int,
    data: DataSize,
    workers: int = 1,
    ranker: str = LINEAR_RANKER,
    **options: Any,
) -> Case:
    """Two repetitions of linear buckets with a ranker. Rows show their labels, or it would not be stored."""
    case = linear_case(n_labels, n_features, n_buckets, 2, data, workers)
    size = expected_ranker(ranker, n_labels, n_features, data, options.get("ranker_bytes"))
    return replace(case, shape=replace(case.shape, ranker=size), ranker=ranker, **options)


_TEXTS = DataSize(20_000, 44, 2, source="text")
RANKED_TRAINING = {
    "ranker": _ranked(2000, 20_000, 500, DataSize(20_000, 40, 3)),
    "ranker, 2^18 features": _ranked(50_000, 2**18, 1000, DataSize(60_000, 20, 2)),
    "ranker, 2 workers": _ranked(5000, 20_000, 300, DataSize(60_000, 15, 4), 2),
    "ranker, 100,000 labels": _ranked(100_000, 60_000, 1000, DataSize(50_000, 10, 2)),
    "ranker, 250,000 rows": _ranked(1000, 20_000, 128, DataSize(250_000, 12, 2)),
    "ranker, validation rows": _ranked(5000, 30_000, 300, DataSize(30_000, 30, 2, n_validation=3000)),
    "ranker, in memory": _ranked(10_000, 30_000, 500, DataSize(40_000, 20, 2), stored=False),
    "ranker, texts of labels": _ranked(5000, 80_000, 300, _TEXTS, titles=True),
    "ranker, a budget of 2 MB": _ranked(10_000, 40_000, 500, DataSize(40_000, 30, 2), ranker_bytes=2 * 10**6),
    "profiles alone": _ranked(20_000, 40_000, 500, DataSize(100_000, 30, 2), ranker=PROFILE),
}
RANKED_PREDICTION = {"ranker": _ranked(2000, 20_000, 500, DataSize(20_000, 40, 3))}
TRAINING |= LINEAR_TRAINING | SOFTMAX_TRAINING | RANKED_TRAINING
PREDICTION |= LINEAR_PREDICTION | RANKED_PREDICTION
SMALL_LINEAR = linear_case(1000, 30_000, 500, 1, DataSize(2000, 40, 2))
SMALL_RANKED = _ranked(1000, 30_000, 500, DataSize(4000, 30, 2))
SMALL = Case(Shape(1000, 30_000, (256,), 500, 1), DataSize(2000, 40, 2))  # for the test suite: a few seconds
