"""The full scan over all labels: K R additions a row."""

from __future__ import annotations

import numpy as np

from xmach._kernels.scan import scan_top_k
from xmach.decoding.estimators import Rule
from xmach.types import AnyArray, BoolArray, FloatArray, IntArray


def scan(cells: FloatArray, signatures: AnyArray, seen: BoolArray, rule: Rule, k: int) -> tuple[FloatArray, IntArray]:
    """Scores and ids (n, k) of the best labels: seen ones first, then, where they are fewer than k, the others."""
    scores = np.empty((len(cells), k), np.float32)
    ids = np.empty((len(cells), k), np.int64)
    n_first = min(k, int(seen.sum())) if len(seen) else k
    for wanted, part in ((True, slice(0, n_first)), (False, slice(n_first, k))):
        if part.stop > part.start:
            part_scores, part_ids = np.empty_like(scores[:, part]), np.empty_like(ids[:, part])
            scan_top_k(cells, signatures, seen, wanted, rule.merge, part_scores, part_ids)
            scores[:, part], ids[:, part] = part_scores, part_ids
    return scores, ids
