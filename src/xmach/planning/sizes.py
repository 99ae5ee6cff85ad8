"""How many parameters, bytes and multiplications a model has: counted from its shapes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import ceil
from typing import TYPE_CHECKING

import numpy as np

from xmach.parameters import MOST_REPETITIONS, whole

if TYPE_CHECKING:
    from xmach.planning.ranker_sizes import RankerSize

FLOAT_BYTES = 4  # weights, activations and gradients are float32


@dataclass(frozen=True)
class Shape:
    """A model: R networks d-hidden...-B over K labels; without hidden layers each is logistic regression."""

    n_labels: int
    n_features: int
    hidden: tuple[int, ...]
    n_buckets: int
    n_repetitions: int
    n_tables: int = 0  # repetitions whose buckets are tables, made of the rows
    weights: int | None = None  # stored weights of a repetition, if it has sparse linear buckets
    weight_bits: int = 8  # of each of those; 32: as they were learned
    ranker: RankerSize | None = None  # the second stage; None: there is none
    joint: bool = False  # whether linear buckets are trained together, by softmax: with all d x B weights

    def __post_init__(self) -> None:
        widths = _widths(self.n_features, self.hidden, self.n_buckets)  # Python ints, whose products cannot overflow
        plain = {
            "n_labels": whole("n_labels", self.n_labels, 1),
            "n_features": widths[0],
            "hidden": tuple(widths[1:-1]),
            "n_buckets": whole("n_buckets", self.n_buckets, 2),
            "n_repetitions": whole("n_repetitions", self.n_repetitions, 1, MOST_REPETITIONS),
            "n_tables": whole("n_tables", self.n_tables, 0, self.n_repetitions),
        }
        for name, value in plain.items():
            object.__setattr__(self, name, value)

    @property
    def widths(self) -> tuple[int, ...]:
        """d, the hidden layers, B."""
        return (self.n_features, *self.hidden, self.n_buckets)

    @property
    def parameters(self) -> int:
        """Of one repetition."""
        if self.weights is not None:
            return self.weights + self.n_buckets
        return network_parameters(self.n_features, self.hidden, self.n_buckets)

    @property
    def repetition_bytes(self) -> int:
        """One repetition's parameters."""
        if self.weights is not None:
            return stored_bytes(self.weights, self.n_features, self.n_buckets, self.weight_bits)
        return FLOAT_BYTES * self.parameters

    @property
    def model_bytes(self) -> int:
        """All R repetitions' parameters: what the model takes on disk and, mapped, in memory."""
        return self.n_repetitions * self.repetition_bytes

    @property
    def ranker_bytes(self) -> int:
        """What the second stage takes on disk."""
        return 0 if self.ranker is None else self.ranker.stored_bytes(self.n_labels, self.n_features)

    def __str__(self) -> str:
        return f"{'-'.join(str(width) for width in self.widths)} x {self.n_repetitions}"


def stored_bytes(weights: int, n_features: int, n_buckets: int, bits: int = 8) -> int:
    """One repetition of sparse linear buckets: lists by feature of codes and gaps (models/linear.py).

    A gap takes a byte, and 255 buckets without a weight a filler; or two bytes and hardly any filler, if that is less.
    The fillers of a feature were measured: they are about half of those that it would have without any weight, fewer
    the more weights there are.
    """
    code = bits // 8
    stretches = n_buckets / 255  # fillers of a feature whose only weight is in the last bucket
    fillers = n_features * max(0.0, stretches - 2) * 0.55 / (1 + weights / max(1.0, n_features * stretches) / 5)
    lists = min((1 + code) * (weights + fillers), (2 + code) * weights)
    return ceil(lists) + 4 * (n_features + 1) + 8 * n_buckets


def network_parameters(n_features: int, hidden: Sequence[int], n_buckets: int) -> int:
    """The weights and biases of one d-hidden...-B network."""
    return sum(inputs * outputs + outputs for inputs, outputs in pairwise(_widths(n_features, hidden, n_buckets)))


def one_vs_all_parameters(n_features: int, hidden: Sequence[int], n_labels: int) -> int:
    """The weights and biases of the network that MACH replaces: an output for every label."""
    return network_parameters(n_features, hidden, whole("n_labels", n_labels, 1))


def query_operations(shape: Shape, nonzeros: int | None = None) -> int:
    """Multiplications and additions of one answer: R B d + K R (the paper's count), a network's layers instead of B d.

    With `nonzeros` the first layer reads only that many values of a sparse row. For sparse linear buckets it is an
    upper bound: every weight is read at most once.
    """
    first = shape.n_features if nonzeros is None else min(shape.n_features, nonzeros)
    layers = sum(inputs * outputs for inputs, outputs in pairwise((first, *shape.widths[1:])))
    if shape.weights is not None:
        layers = min(layers, shape.weights)
    return shape.n_repetitions * (layers + shape.n_labels)


def one_vs_all_operations(shape: Shape, nonzeros: int | None = None) -> int:
    """Those of the network with an output for every label: K d where it is linear."""
    first = shape.n_features if nonzeros is None else min(shape.n_features, nonzeros)
    return sum(inputs * outputs for inputs, outputs in pairwise((first, *shape.hidden, shape.n_labels)))


def signature_bytes(n_labels: int, n_buckets: int, n_repetitions: int) -> int:
    """The (K, R) table of buckets, in the smallest unsigned type: 1 byte to 256 buckets, 2 to 65,536, then 4."""
    itemsize = np.min_scalar_type(whole("n_buckets", n_buckets, 2) - 1).itemsize
    return whole("n_labels", n_labels, 1) * whole("n_repetitions", n_repetitions, 1) * itemsize


def inverted_index_bytes(n_labels: int, n_buckets: int, n_repetitions: int) -> int:
    """The labels of every bucket: (R, K) 32-bit ids and (R, B + 1) 64-bit offsets."""
    per_repetition = 4 * whole("n_labels", n_labels, 1) + 8 * (whole("n_buckets", n_buckets, 2) + 1)
    return whole("n_repetitions", n_repetitions, 1) * per_repetition


def _widths(n_features: int, hidden: Sequence[int], n_outputs: int) -> list[int]:
    """d, the hidden layers and B as Python ints, whose products cannot overflow."""
    return [
        whole("n_features", n_features, 1),
        *(whole("hidden", width, 1) for width in hidden),
        whole("n_buckets", n_outputs, 1),
    ]
