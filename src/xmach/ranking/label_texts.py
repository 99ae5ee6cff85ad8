"""Texts of labels as profiles, weighed as in BM25: what counts is which features a text has, not how often.

The row that is compared carries the weights of the scaling (tf-idf). The text of a label has the same value for each of
its features, so that the rarity of a feature counts once and not twice, and a long text loses little: the value falls
with the number of features n as n^-0.2, where a cosine has n^-0.5.
"""

from __future__ import annotations

import numpy as np

from xmach.ranking.label_rows import LabelRows
from xmach.ranking.profiles import Profiles, profile_part
from xmach.types import IntArray, SparseRows

LENGTH_POWER = 0.2
_USUAL_LENGTH = 64  # a text of so many features has the values of a cosine


def text_profiles(ids: IntArray, rows: SparseRows, n_labels: int) -> Profiles:
    """Return the profiles of texts; `rows` are those of the labels `ids`, scaled. A long text keeps its largest values.

    Their `search` returns cosines times (n / 64)^0.3, n the number of features of the text.
    """
    starts = np.zeros(n_labels + 1, np.int64)
    starts[ids + 1] = 1
    lists = LabelRows(0, np.cumsum(starts), np.arange(len(ids), dtype=np.int32), np.ones(len(ids), np.float32))
    part = profile_part(rows, lists, energy=1.0)
    alike = Profiles.join([part._replace(values=np.ones_like(part.values))], rows.n_columns, n_labels)
    lengths = np.diff(part.starts)  # (K,)
    longer = np.maximum(lengths, 1) / _USUAL_LENGTH
    arrays = alike.arrays()
    scales = arrays["scales"] * longer ** (0.5 - LENGTH_POWER)
    return Profiles.from_arrays(arrays | {"scales": scales.astype(np.float32)})
