"""What a plan needs in memory, counted from its shapes."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from math import ceil, inf

import numpy as np

from xmach.parameters import real, whole

FLOAT_BYTES = 4  # weights, activations and gradients are float32
INTERPRETER_BYTES = 250 * 2**20  # Python with NumPy, SciPy and Numba loaded and its kernels compiled
ADAM_COPIES = 3  # a parameter and its two moments
TRANSPOSE_BYTES = 16  # each stored value of a batch, with its place in the transposed batch
NONZEROS_PER_ROW = 100.0  # of sparse rows, where nobody has counted


def network_parameters(n_features: int, hidden: Sequence[int], n_buckets: int) -> int:
    """The weights and biases of one d-hidden...-B network."""
    return sum(inputs * outputs + outputs for inputs, outputs in pairwise(_widths(n_features, hidden, n_buckets)))


def one_vs_all_parameters(n_features: int, hidden: Sequence[int], n_labels: int) -> int:
    """The weights and biases of the network that MACH replaces: an output for every label."""
    return network_parameters(n_features, hidden, whole("n_labels", n_labels, 1))


def training_bytes(
    n_features: int,
    hidden: Sequence[int],
    n_buckets: int,
    batch_size: int,
    sparse: bool = True,
    nonzeros_per_row: float = NONZEROS_PER_ROW,
    n_rows: int = 0,
) -> int:
    """The memory of a process that trains one repetition with Adam; the rows themselves are mapped, not counted.

    Sparse rows update the first layer in place; every other gradient is an array. Checkpoints are written from
    the arrays themselves.
    """
    widths = _widths(n_features, hidden, n_buckets)
    batch = whole("batch_size", batch_size, 1)
    permutation = 8 * whole("n_rows", n_rows, 0)
    nonzeros = ceil(batch * real("nonzeros_per_row", nonzeros_per_row, 0, inf, with_low=True))

    parameters = network_parameters(n_features, hidden, n_buckets)
    gradients = parameters - (widths[0] * widths[1] if sparse else 0)
    activations = 2 * batch * sum(widths[1:])  # and as many deltas on the way back
    # A sparse batch is transposed by counting sort, with a counter a feature; a dense one is gathered.
    rows = TRANSPOSE_BYTES * nonzeros + 4 * widths[0] if sparse else FLOAT_BYTES * batch * widths[0]
    floats = ADAM_COPIES * parameters + gradients + activations
    return INTERPRETER_BYTES + FLOAT_BYTES * floats + rows + permutation


def prediction_bytes(
    n_features: int,
    hidden: Sequence[int],
    n_buckets: int,
    n_repetitions: int,
    n_labels: int,
    batch_size: int = 256,
    signatures: bool = True,
    inverted_index: bool = False,
) -> int:
    """The memory of a process that predicts: R models, what the decoder keeps, and the scores of one batch.

    Without stored signatures and index (the hash computes both) nothing grows with the number of labels.
    """
    repetitions = whole("n_repetitions", n_repetitions, 1)
    batch = whole("batch_size", batch_size, 1)
    widths = _widths(n_features, hidden, n_buckets)
    models = repetitions * network_parameters(n_features, hidden, n_buckets)
    scores = batch * repetitions * widths[-1]  # (n, R, B)
    activations = batch * sum(widths[1:])
    tables = signature_bytes(n_labels, n_buckets, repetitions) if signatures else 0
    tables += inverted_index_bytes(n_labels, n_buckets, repetitions) if inverted_index else 0
    return INTERPRETER_BYTES + FLOAT_BYTES * (models + scores + activations) + tables


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
