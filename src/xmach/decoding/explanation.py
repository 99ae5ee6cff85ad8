"""Why a label has its score: its bucket in every repetition, the labels that share those buckets, and the words."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from xmach.buckets import Buckets, bucket_members
from xmach.decoding.decoder import Decoder
from xmach.types import FloatArray, IntArray, TopK, nine_digits, shortened

AGREES = 10  # a repetition agrees with a label if the label's bucket is among its 10 best
RIVALS = 10


class Evidence(NamedTuple):
    """The buckets of m labels in R repetitions, for one row."""

    buckets: IntArray  # (m, R)
    probabilities: FloatArray  # (m, R) of those buckets
    ranks: IntArray  # (m, R) of the bucket among the B of its repetition; 1 is the best


@dataclass(frozen=True)
class RepetitionEvidence:
    """What one repetition says of a label."""

    repetition: int
    bucket: int
    probability: float
    rank: int  # of the bucket among the B of this repetition; 1 is the best
    agrees: bool  # the rank is at most 10


@dataclass(frozen=True)
class Rival:
    """A label that shares buckets with the explained one."""

    label: Any
    score: float
    shared: list[int]  # the repetitions in which it does


@dataclass(frozen=True)
class WordEffect:
    """A word of the text, and how much the score falls without it."""

    word: str
    start: int  # text[start:end] is the word
    end: int
    effect: float


@dataclass(frozen=True, repr=False)
class Explanation:
    """Why a label has its score for one text or row. `print` it for the whole of it."""

    label: Any
    score: float
    estimator: str
    agreeing: int  # repetitions whose 10 best buckets include the label's
    repetitions: list[RepetitionEvidence]
    rivals: list[Rival]  # the best labels that share a bucket with this one, best first
    words: list[WordEffect]  # in the order of the text; empty for a row of numbers
    parts: dict[str, float] = field(default_factory=dict)  # of a ranker's score, before the sigmoid; empty without one

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Explanation:
        """The inverse of `dataclasses.asdict`, and what the server's `/v1/explain` gives without `model`."""
        repetitions = [RepetitionEvidence(**each) for each in values["repetitions"]]
        rivals, words = [Rival(**each) for each in values["rivals"]], [WordEffect(**each) for each in values["words"]]
        return cls(**values | {"repetitions": repetitions, "rivals": rivals, "words": words})

    def __repr__(self) -> str:
        strongest = sorted(self.words, key=lambda word: -word.effect)[:3]
        words = ", ".join(f"{word.word[:20]!r}: {word.effect:+.3g}" for word in strongest)
        rival = f", rival={shortened(self.rivals[0].label)}" if self.rivals else ""
        agreeing = f"{self.agreeing} of {len(self.repetitions)} repetitions agree"
        head = f"<Explanation of {shortened(self.label)}: {self.estimator} score {self.score:.4g}, {agreeing}"
        return f"{head}, words={{{words}}}{rival}>"

    def __str__(self) -> str:
        lines = [f"{self.label}: {self.estimator} score {self.score:.4g}"]
        lines += [f"  {name:<10} {value:+10.4g}" for name, value in self.parts.items()]
        lines.append(f"{self.agreeing} of {len(self.repetitions)} repetitions agree (bucket among the {AGREES} best)")
        if self.words:
            lines.append("word                   effect on the score")
            lines += [f"  {word.word:<20} {word.effect:+10.4g}" for word in self.words]
        lines.append("repetition      bucket  probability    rank")
        lines += [f"  {r.repetition:8} {r.bucket:11} {r.probability:12.4g} {r.rank:7}" for r in self.repetitions]
        if self.rivals:
            lines.append("labels that share a bucket    score  repetitions shared")
            lines += [
                f"  {rival.label!s:<22} {rival.score:10.4g}  {', '.join(map(str, rival.shared))}"
                for rival in self.rivals
            ]
        return "\n".join(lines)


def label_evidence(hashes: Buckets, sketch: FloatArray, ids: IntArray) -> Evidence:
    """Look up the buckets of labels `ids` (m,) in the bucket probabilities (R, B) of one row."""
    n_repetitions, n_buckets = sketch.shape
    buckets = np.stack([hashes.buckets(ids, r) for r in range(n_repetitions)], axis=1)  # (m, R)
    cells = sketch[np.arange(n_repetitions), buckets]
    ascending = np.sort(sketch, axis=1)
    ranks = [n_buckets - np.searchsorted(ascending[r], cells[:, r], "right") + 1 for r in range(n_repetitions)]
    return Evidence(buckets, cells, np.stack(ranks, axis=1))


def repetition_evidence(hashes: Buckets, sketch: FloatArray, label: IntArray) -> list[RepetitionEvidence]:
    """The evidence of one label (1,), repetition by repetition."""
    evidence = label_evidence(hashes, sketch, label)
    columns = evidence.buckets[0].tolist(), nine_digits(evidence.probabilities[0]), evidence.ranks[0].tolist()
    return [
        RepetitionEvidence(r, bucket, probability, rank, rank <= AGREES)
        for r, (bucket, probability, rank) in enumerate(zip(*columns, strict=True))
    ]


def find_rivals(
    hashes: Buckets, decoder: Decoder, sketch: FloatArray, label: int, estimator: str | None
) -> tuple[TopK, list[list[int]]]:
    """The best labels of one row (1, R, B) that share a bucket with this label, and the repetitions of each."""
    own = [int(hashes.buckets(np.array([label]), r)[0]) for r in range(hashes.n_repetitions)]
    sharing = np.concatenate([bucket_members(hashes, r, bucket) for r, bucket in enumerate(own)]).astype(np.int64)
    others = np.setdiff1d(sharing, [label])
    if not len(others):
        nothing = np.empty((1, 0), np.int64)
        return TopK(nothing, np.empty((1, 0), np.float32), nothing), []
    best = decoder.top_k(sketch, RIVALS, estimator=estimator, candidates=others, threads=1)
    shared = np.stack([hashes.buckets(best.ids[0], r) == bucket for r, bucket in enumerate(own)], axis=1)
    return best, [np.flatnonzero(which).tolist() for which in shared]
