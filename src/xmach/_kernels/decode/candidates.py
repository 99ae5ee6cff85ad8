"""Candidates: the signatures of some labels, and their scores if every row has its own candidates."""

from __future__ import annotations

from typing import Any

import numpy as np

from xmach._kernels._compile import kernel
from xmach._kernels.decode.scan import score_labels
from xmach.types import AnyArray, DoubleArray, FloatArray, IntArray


@kernel
def _remainder(number: Any, divisor: Any, inverse: Any) -> Any:
    """Return a whole number modulo another, both below 2^53; corrects a quotient that is off by one."""
    rest = number - np.floor(number * inverse) * divisor
    rest += divisor if rest < 0.0 else 0.0
    return rest - (divisor if rest >= divisor else 0.0)


@kernel
def _buckets(high: DoubleArray, low: DoubleArray, b: DoubleArray, p: float, n: float, x: float, out: AnyArray) -> None:
    """The R buckets of a label x < 2^31 by the hash, a = 65,536 high + low.

    Halves of a make every product exact in float64, and those are computed four at a time, which AVX2 cannot do with
    64-bit integers: at R = 32 three times as fast as `index.signature`, where many signatures are wanted at once.
    """
    by_p, by_n = 1.0 / p, 1.0 / n
    for r in range(len(high)):
        y = _remainder(high[r] * x, p, by_p)
        y = _remainder(y * 65536.0 + low[r] * x + b[r], p, by_p)
        out[r] = np.int32(_remainder(y, n, by_n))


@kernel
def gather_signatures(index: Any, ids: IntArray, out: AnyArray) -> None:
    """Return the signatures of the given labels, (m, R): by the hash if it is known, otherwise from the table.

    The stored table of a model is not used if the hash is known: a million of 50 million labels would touch nearly
    every page of it.
    """
    if index.prime == 0:
        for i in range(len(ids)):
            out[i] = index.signatures[ids[i]]
        return
    high, low = (index.a >> 16).astype(np.float64), (index.a & 0xFFFF).astype(np.float64)
    b, p, n = index.b.astype(np.float64), float(index.prime), float(index.n_buckets)
    for i in range(len(ids)):
        _buckets(high, low, b, p, n, float(ids[i]), out[i])


@kernel
def score_pairs(cells: FloatArray, index: Any, indptr: IntArray, ids: IntArray, rule: int, out: FloatArray) -> None:
    """Score the labels ids[indptr[i]:indptr[i + 1]] of each row i: cells (n, R, B), out (len(ids),)."""
    longest = 0
    for i in range(len(cells)):
        longest = max(longest, indptr[i + 1] - indptr[i])
    room = np.empty((longest, len(index.a)), index.signatures.dtype)
    scores = np.empty((1, longest), np.float32)
    for i in range(len(cells)):
        start, stop = indptr[i], indptr[i + 1]
        gather_signatures(index, ids[start:stop], room)
        score_labels(cells[i : i + 1], room[: stop - start], rule, scores[:, : stop - start])
        out[start:stop] = scores[0, : stop - start]
