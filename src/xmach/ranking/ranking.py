"""The second stage: what profiles add to a shortlist, and the score of every candidate."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from xmach.block_sizes import SHORTLISTED_BY_PROFILE, SHORTLISTED_BY_SKETCH, SHORTLISTED_BY_TEXT
from xmach.data import LabelCounts
from xmach.data.arrays import as_sparse_rows
from xmach.parameters import whole
from xmach.ranking.fusion import Fusion, log_cosine, log_margin
from xmach.ranking.label_weights import LabelWeights
from xmach.ranking.profiles import Profiles
from xmach.ranking.shortlist import Shortlist
from xmach.types import BoolArray, FloatArray, IntArray, Rows

MOST_LISTED = 1_000_000  # labels of a shortlist; more would be damage


def log_frequencies(counts: LabelCounts) -> FloatArray:
    """Return log(1 + training rows) of every label (K,)."""
    return np.log1p(counts.dense().astype(np.float32))


class ShortlistSizes(NamedTuple):
    """How many labels of each row are ranked again."""

    mach: int = SHORTLISTED_BY_SKETCH  # the best by MACH
    profile: int = SHORTLISTED_BY_PROFILE  # the nearest profiles
    text: int = SHORTLISTED_BY_TEXT  # the nearest label texts

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> ShortlistSizes:
        """The sizes in a manifest; raises ParameterError unless they are whole numbers from 0 on."""
        sizes = cls(**values)
        return cls(*(whole(name, size, 0, MOST_LISTED) for name, size in sizes._asdict().items()))


DEFAULT_SIZES = ShortlistSizes()


@dataclass(frozen=True, eq=False, repr=False)
class Ranking:
    """The parts of the second stage and how they are weighed. Rows are scaled."""

    fusion: Fusion
    log_counts: FloatArray  # (K,) log(1 + training rows)
    profiles: Profiles | None = None
    texts: Profiles | None = None
    ranker: LabelWeights | None = None
    sizes: ShortlistSizes = DEFAULT_SIZES
    cost: float = 0.0  # that the ranker was trained with

    def __repr__(self) -> str:
        weights = ", ".join(f"{name} {weight:.3g}" for name, weight in self.fusion.weights.items())
        return f"<Ranking of {len(self.log_counts):,} labels: {weights}>"

    @property
    def n_weights(self) -> int:
        """Stored weights of all parts."""
        return sum(part.n_weights for part in (self.profiles, self.texts, self.ranker) if part is not None)

    def known(self, seen: BoolArray | None) -> BoolArray | None:
        """The labels (K,) that may be on a shortlist: those that were `seen` in training or have a text; None: all."""
        return seen if seen is None or self.texts is None else seen | self.texts.present()

    def to_dict(self) -> dict[str, Any]:
        """The weights and sizes as JSON values; the arrays are stored apart."""
        return {"fusion": self.fusion.to_dict(), "shortlist": self.sizes._asdict(), "cost": self.cost}

    def absent_parts(self) -> list[str]:
        """The parts that the score needs and that are not there."""
        there = {"ranker": self.ranker, "profile": self.profiles, "text": self.texts}
        return [name for name, part in there.items() if part is None and self.fusion.uses(name)]

    def shortlist(self, rows: Rows, best: IntArray, allowed: BoolArray | None) -> Shortlist:
        """Join MACH's best labels (n, m) with the nearest profiles and texts; `allowed` (K,) limits those."""
        return Shortlist.of([best, *self._found(rows, allowed)])

    def _found(self, rows: Rows, allowed: BoolArray | None) -> Sequence[IntArray]:
        sparse, nothing = as_sparse_rows(rows), np.zeros(rows.shape[0] + 1, np.int64)
        found = []
        for profiles, size in ((self.profiles, self.sizes.profile), (self.texts, self.sizes.text)):
            if profiles is not None and size:
                found.append(profiles.search(sparse, nothing, nothing[:0], size, allowed)[1])
        return found

    def parts(self, rows: Rows, shortlist: Shortlist, mach: FloatArray) -> dict[str, FloatArray]:
        """Return the values of the parts that are there for each candidate; `mach` are its mean log-probabilities."""
        sparse, where = as_sparse_rows(rows), (shortlist.indptr, shortlist.ids)
        parts = {"mach": mach, "prior": self.log_counts[shortlist.ids]}
        if self.ranker is not None:
            parts["ranker"] = log_margin(self.ranker.margins(sparse, *where))
        if self.profiles is not None:
            parts["profile"] = log_cosine(self.profiles.search(sparse, *where, 0)[0])
        if self.texts is not None:
            parts["unseen"] = (parts["prior"] == 0.0).astype(np.float32)
            parts["text"] = log_cosine(self.texts.search(sparse, *where, 0)[0])
        return parts
