"""Learns what each feature is worth in a label's text: a softmax over the candidates of each row, by AdaGrad.

The score of a candidate is the sum, over the features that the row and the text share, of feature weight * row value *
the text's factor. All weights begin at 1. Rows follow each other in a given order, on one thread: the same bits always.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from xmach._kernels._compile import float64, int64, kernel
from xmach.types import BoolArray, DoubleArray, FloatArray, Int32Array, IntArray


class Texts(NamedTuple):
    """The features of K texts: text i has features[starts[i]:starts[i + 1]], and its scores are times factors[i]."""

    starts: IntArray  # (K + 1,)
    features: Int32Array
    factors: FloatArray  # (K,)


class Examples(NamedTuple):
    """n rows with their candidates: row i has ids[indptr[i]:indptr[i + 1]], and `right` says which are its labels."""

    starts: IntArray  # (n + 1,) of the row's features
    features: Int32Array
    values: FloatArray
    indptr: IntArray  # (n + 1,)
    ids: IntArray
    right: BoolArray


@kernel
def _score(texts: Texts, label: Any, products: DoubleArray) -> float:
    """The sum of the row's weighted values over the features of a text, times the text's factor."""
    total = 0.0
    for j in range(texts.starts[label], texts.starts[label + 1]):
        total += products[texts.features[j]]
    return float64(total * texts.factors[label])


@kernel
def _errors(rows: Examples, i: Any, texts: Texts, sharpness: float, products: DoubleArray, errors: DoubleArray) -> bool:
    """Fill in the softmax of a row's candidates minus what it should be; False if none of them is right."""
    first, last = rows.indptr[i], rows.indptr[i + 1]
    n_right, highest = int64(0), -np.inf
    for c in range(first, last):
        errors[c - first] = sharpness * _score(texts, rows.ids[c], products)
        highest = max(highest, errors[c - first])
        n_right += int64(rows.right[c])
    if n_right == 0:
        return False
    total = 0.0
    for c in range(last - first):
        errors[c] = np.exp(errors[c] - highest)
        total += errors[c]
    for c in range(last - first):
        errors[c] /= total
        if rows.right[first + c]:
            errors[c] -= 1.0 / n_right
    return True


@kernel
def learn_term_weights(
    rows: Examples,
    order: IntArray,
    texts: Texts,
    sharpness: float,
    rate: float,
    weights: DoubleArray,  # (d,)
    squares: DoubleArray,  # (d,) of the gradients so far
    products: DoubleArray,  # (d,) zeros, and zeros again at the end
    slopes: DoubleArray,  # (d,) zeros, too
    errors: DoubleArray,  # as many as a row has candidates
) -> None:
    """Take one step per row, in the given order."""
    for i in order:
        first, last = rows.starts[i], rows.starts[i + 1]
        for j in range(first, last):
            products[rows.features[j]] = weights[rows.features[j]] * rows.values[j]
        if _errors(rows, i, texts, sharpness, products, errors):
            for c in range(rows.indptr[i], rows.indptr[i + 1]):
                label = rows.ids[c]
                push = errors[c - rows.indptr[i]] * texts.factors[label]
                for j in range(texts.starts[label], texts.starts[label + 1]):
                    slopes[texts.features[j]] += push
            for j in range(first, last):
                feature = rows.features[j]
                slope = sharpness * slopes[feature] * rows.values[j]
                if slope != 0.0:
                    squares[feature] += slope * slope
                    weights[feature] -= rate * slope / np.sqrt(squares[feature])
            for c in range(rows.indptr[i], rows.indptr[i + 1]):
                label = rows.ids[c]
                for j in range(texts.starts[label], texts.starts[label + 1]):
                    slopes[texts.features[j]] = 0.0
        for j in range(first, last):
            products[rows.features[j]] = 0.0
