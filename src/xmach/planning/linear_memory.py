"""The memory of sparse linear buckets in training."""

from __future__ import annotations

from math import ceil

from xmach.block_sizes import LANES, MOST_HELD_OUT, MOST_PROBED_ROWS, PART_GROUPS, PROBED_BUCKETS, SCALING_ROWS
from xmach.planning.data_size import DataSize
from xmach.planning.sizes import FLOAT_BYTES, Shape

KERNEL_BYTES = 10 * 2**20  # what the kernels of linear buckets add to a process, beyond those of networks: measured
BLOCK_VALUE_BYTES = 20  # a value of a block of rows that is being scaled
VISIT_BYTES = 35  # of a row in training: norm, cost, mask, place in the order twice; whether it moved, is visited
PROBE_VALUE_BYTES = 24  # of a sampled row: as it was, and scaled; while it is scaled, gathered with the held-out ones
MARGIN_BYTES = 40  # of a held-out row and a probed bucket: margins of three numbers of passes, ranked


def scaled_bytes(shape: Shape, data: DataSize) -> int:
    """The rows that are trained on: scaled, in memory or in mapped files; their labels; validation rows, mapped."""
    n_values = data.values(data.n_rows) if data.sparse else data.n_rows * shape.n_features
    labels = ceil(8 * data.n_rows * data.labels_per_row)
    held_out = DataSize(data.n_validation, data.nonzeros_per_row, data.labels_per_row, data.sparse)
    return 8 * n_values + labels + 16 * data.n_rows + 4 * shape.n_features + held_out.mapped_bytes(shape.n_features)


def linear_preparing_bytes(shape: Shape, data: DataSize) -> int:
    """What scaling the rows takes beside the rows as they were read: the scaled ones, and a block of them in work."""
    rows = min(SCALING_ROWS, data.n_rows)
    values, block = (data.values(n) if data.sparse else n * shape.n_features for n in (data.n_rows, rows))
    return 8 * values + 16 * data.n_rows + BLOCK_VALUE_BYTES * block + 32 * shape.n_features


def descent_bytes(shape: Shape, data: DataSize) -> int:
    """What 64 buckets in training take, with the finished buckets of their part.

    A weight for each feature, and whether it is finite; a row's dual variables and what else is known of it.
    """
    weights = (FLOAT_BYTES + 1) * LANES * shape.n_features
    duals = (FLOAT_BYTES * LANES + VISIT_BYTES) * data.n_rows
    return weights + duals + part_bytes(shape)


def joining_bytes(shape: Shape) -> int:
    """What making a repetition's lists by feature takes: its parts, mapped; codes; the lists, copied to be written."""
    weights, lists, d = shape.weights or 0, shape.repetition_bytes, shape.n_features
    return 8 * weights + max(weights + lists + 32 * d, 2 * lists + 8 * d)


def choosing_bytes(shape: Shape, data: DataSize) -> int:
    """What choosing the cost and the passes takes: 64 buckets in training on a sample, and a pruned copy of them."""
    held_out = min(MOST_HELD_OUT, data.n_validation or data.n_rows // 5)
    rows = min(MOST_PROBED_ROWS, data.n_rows if data.n_validation else data.n_rows - held_out)
    values = data.values(rows + held_out) if data.sparse else (rows + held_out) * shape.n_features
    weights = (2 * FLOAT_BYTES + 1) * LANES * shape.n_features
    duals = (FLOAT_BYTES * LANES + VISIT_BYTES) * rows
    margins = MARGIN_BYTES * held_out * min(PROBED_BUCKETS, shape.n_buckets)
    return PROBE_VALUE_BYTES * values + weights + duals + margins


def n_parts(shape: Shape) -> int:
    """The parts that a repetition is trained in."""
    return ceil(shape.n_buckets / (PART_GROUPS * LANES))


def part_bytes(shape: Shape) -> int:
    """The weights of a part: as many as of equally many buckets elsewhere."""
    share = min(1.0, PART_GROUPS * LANES / shape.n_buckets)
    return 8 * ceil(share * (shape.weights or 0))
