"""The optimizer of dense layers, the targets of the output layer, and binary cross-entropy (softmax: `softmax`)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from xmach._kernels._compile import kernel
from xmach._kernels.llvm import adam_lines
from xmach.types import AnyArray, FloatArray, Int32Array, IntArray


class AdamRates(NamedTuple):
    """The scalars of an Adam step."""

    rate: np.float32  # includes the bias correction of the step
    beta1: np.float32
    beta2: np.float32
    epsilon: np.float32
    decay: np.float32  # multiplies the weights


class TargetBatch(NamedTuple):
    """The targets of n rows: row i has buckets[offsets[i]:offsets[i+1]], distinct, with masses that sum to 1."""

    offsets: IntArray  # (n + 1,)
    buckets: Int32Array
    masses: FloatArray


@kernel
def adam_ahead(
    weights: FloatArray,
    scale: np.float32,
    gradient: FloatArray,
    first: FloatArray,
    second: FloatArray,
    rates: AdamRates,
    soon: tuple[FloatArray, ...],
) -> None:
    """Take the step of `adam_row` with scale * gradient, and prefetch the rows that are needed soon."""
    one = np.float32(1.0)
    rate, beta1, beta2, epsilon, decay = rates
    done = adam_lines(weights, scale, gradient, first, second, rate, beta1, beta2, epsilon, decay, soon)
    for i in range(done, len(weights)):
        g = scale * gradient[i]
        m = beta1 * first[i] + (one - beta1) * g
        v = beta2 * second[i] + (one - beta2) * g * g
        first[i] = m
        second[i] = v
        weights[i] = decay * weights[i] - rate * m / (np.sqrt(v) + epsilon)


@kernel
def adam_row(
    weights: FloatArray,
    gradient: FloatArray,
    first: FloatArray,
    second: FloatArray,
    rates: AdamRates,
) -> None:
    """Take one Adam step in place, over 1-D arrays."""
    one = np.float32(1.0)
    adam_ahead(weights, one, gradient, first, second, rates, ())


@kernel
def adam(
    weights: FloatArray,
    gradient: FloatArray,
    places: IntArray,
    first: FloatArray,
    second: FloatArray,
    rates: AdamRates,
) -> None:
    """Take the step of `adam_row` over 2-D arrays; the gradient of row i is gradient[places[i]]."""
    for i in range(len(weights)):
        adam_row(weights[i], gradient[places[i]], first[i], second[i], rates)


@kernel
def bucket_targets(
    indptr: IntArray,
    labels: Int32Array,
    values: FloatArray,
    rows: IntArray,
    table: AnyArray,
    a: int,
    b: int,
    prime: int,
    n_buckets: int,
    targets: TargetBatch,
) -> None:
    """Fill the bucket targets of a batch from the `table` (K,), or, if it is empty, from ((a x + b) mod p) mod B.

    The mass of a bucket is its share of the row's label values.
    """
    offsets, buckets, masses = targets
    place = 0
    offsets[0] = 0
    # unsigned throughout: a x + b needs all 64 bits, and Numba makes uint64 with int64 a float
    a64, b64, p64, n64 = np.uint64(a), np.uint64(b), np.uint64(prime), np.uint64(n_buckets)
    for i in range(len(rows)):
        start = place
        total = np.float32(0.0)
        for j in range(indptr[rows[i]], indptr[rows[i] + 1]):
            if len(table) > 0:
                bucket = np.int32(table[labels[j]])
            else:
                bucket = np.int32(((a64 * np.uint64(labels[j]) + b64) % p64) % n64)
            total += values[j]
            found = start
            while found < place and buckets[found] != bucket:  # a row has few labels: a scan beats a sort
                found += 1
            if found == place:
                buckets[place] = bucket
                masses[place] = values[j]
                place += 1
            else:
                masses[found] += values[j]
        for t in range(start, place):
            masses[t] = masses[t] / total if total > 0 else np.float32(1.0 / (place - start))
        offsets[i + 1] = place


@kernel
def bce_gradient(probabilities: FloatArray, targets: TargetBatch, weights: FloatArray) -> float:
    """Turn sigmoid probabilities (n, B) into d loss / d logits in place; returns the summed weighted cross-entropy.

    A bucket's target is the OR of its labels, so masses do not matter. The sum of log(1 - p) over B buckets is taken
    as the log of running products: a logarithm for each would cost more than the gradient.
    """
    offsets, buckets, _ = targets
    loss = 0.0
    one, tiny = np.float32(1.0), 1e-30
    for i in range(len(weights)):
        row, weight = probabilities[i], weights[i]
        negative, product = 0.0, 1.0
        for c in range(len(row)):
            product *= max(one - row[c], np.float32(1e-7))
            if product < 1e-200:
                negative -= np.log(product)
                product = 1.0
        negative -= np.log(product)
        for t in range(offsets[i], offsets[i + 1]):
            p = row[buckets[t]]
            negative += np.log(max(one - p, np.float32(1e-7))) - np.log(max(p, tiny))
            row[buckets[t]] = p - one
        loss += weight * negative
        if weight != 1.0:
            row *= weight
    return loss
