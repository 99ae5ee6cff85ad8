"""The index of a decoder: the signature of a label and the members of a bucket, from tables or from the hash."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from xmach._kernels._compile import kernel
from xmach.types import AnyArray, Int32Array, IntArray


class Index(NamedTuple):
    """The buckets of K labels. Without tables (`signatures` has no rows) both are computed from the hash.

    h(x) = ((a x + b) mod p) mod B, so the labels of bucket c are x = a^-1 (y - b) mod p for y = c, c + B, c + 2B, ...
    below p: from each to the next it is one addition modulo p.
    """

    n_labels: int
    n_buckets: int
    prime: int  # 0 if the hash is unknown
    a: IntArray  # (R,)
    b: IntArray  # (R,)
    inverse: IntArray  # (R,) a^-1 mod p
    signatures: AnyArray  # (K, R), or (0, R)
    offsets: IntArray  # (R, B + 1), or (R, 0)
    labels: Int32Array  # (R, K) by bucket and ascending id, or (R, 0)


@kernel
def signature(index: Any, label: int, out: IntArray) -> None:
    """The R buckets of a label by the hash.

    Quotients come from multiplying by 1/p and 1/B in float64, off by one at most, which the remainder shows: at
    R = 32 in 50 ns, against 400 with the processor's 64-bit remainder.
    """
    p, n_buckets = index.prime, index.n_buckets
    by_p, by_buckets = 1.0 / p, 1.0 / n_buckets
    x = float(label)
    for r in range(len(index.a)):
        quotient = np.int64((float(index.a[r]) * x + float(index.b[r])) * by_p)
        y = index.a[r] * label + index.b[r] - quotient * p  # may wrap around on the way: the difference is small
        if y < 0:
            y += p
        elif y >= p:
            y -= p
        bucket = y - np.int64(float(y) * by_buckets) * n_buckets
        if bucket < 0:
            bucket += n_buckets
        elif bucket >= n_buckets:
            bucket -= n_buckets
        out[r] = bucket


@kernel
def members(index: Any, r: int, bucket: int, out: Int32Array) -> int:
    """Write the labels of a bucket by the hash, in no particular order; returns their number.

    A bucket has at most p / B + 1 labels. If `out` has less room, only part of them are written.
    """
    p = np.uint64(index.prime)
    start = (np.uint64(bucket) + p - np.uint64(index.b[r])) % p
    x = np.int64((np.uint64(index.inverse[r]) * start) % p)
    step = np.int64((np.uint64(index.inverse[r]) * np.uint64(index.n_buckets)) % p)
    count = 0
    for _ in range(min(len(out), (index.prime - bucket + index.n_buckets - 1) // index.n_buckets)):
        out[count] = x  # overwritten by the next unless it is a label
        count += x < index.n_labels
        x += step
        x -= index.prime if x >= index.prime else 0
    return count


@kernel
def fill_signatures(index: Any, first: int, out: AnyArray) -> None:
    """The signatures of labels first, first + 1, ...: out is (m, R).

    From a label to the next the residue grows by a modulo p, and the bucket by a mod B, less p mod B where the residue
    went round: additions only, for several repetitions at once. 10 ns a label at R = 32, against 60 one by one.
    """
    p, n_buckets, a = index.prime, index.n_buckets, index.a
    step, lost = a % n_buckets, p % n_buckets
    residue, bucket = np.empty(len(a), np.int64), np.empty(len(a), np.int64)
    signature(index, first, bucket)
    for r in range(len(a)):
        residue[r] = np.int64(
            (np.uint64(a[r]) * np.uint64(first) + np.uint64(index.b[r])) % np.uint64(p)  # all 64 bits are needed
        )
    for i in range(len(out)):
        row = out[i]
        for r in range(len(a)):
            row[r] = bucket[r]
            y, c = residue[r] + a[r], bucket[r] + step[r]
            round_again = y >= p
            y -= p if round_again else 0
            c -= lost if round_again else 0
            c += n_buckets if c < 0 else 0
            c -= n_buckets if c >= n_buckets else 0
            residue[r], bucket[r] = y, c


@kernel
def fill_column(index: Any, r: int, out: AnyArray) -> None:
    """The buckets of all labels in one repetition: from each label to the next it is one addition modulo p."""
    y, step, p = np.uint32(index.b[r]), np.uint32(index.a[r]), np.uint32(index.prime)
    n_buckets = np.uint32(index.n_buckets)
    for label in range(len(out)):
        out[label] = y % n_buckets
        y = y - (p - step) if y >= p - step else y + step


@kernel
def sort_into_buckets(column: AnyArray, offsets: IntArray, labels: Int32Array) -> None:
    """One repetition's postings by counting: column (K,) is each label's bucket, offsets (B + 1,), labels (K,)."""
    offsets[:] = 0
    for label in range(len(column)):
        offsets[column[label] + 1] += 1
    for bucket in range(len(offsets) - 1):
        offsets[bucket + 1] += offsets[bucket]
    place = offsets.copy()
    for label in range(len(column)):
        bucket = column[label]
        labels[place[bucket]] = label
        place[bucket] += 1
