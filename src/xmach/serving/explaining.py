"""Why a label was answered: its buckets, who shares them, and the words that drove it."""

from __future__ import annotations

import json
from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np

from xmach.buckets import bucket_members
from xmach.features import word_spans
from xmach.serving.answering import AGREES, AT_A_TIME, SparseInput, as_rows, evidence, numbers
from xmach.serving.model import Served
from xmach.types import FloatArray, IntArray, row_batches

RIVALS = 10
MOST_WORDS = 63  # of a text, whose effect is tried out; with the whole text two batches


@dataclass(frozen=True)
class Why:
    """A request to explain one label for one input."""

    label: Hashable
    text: str | None = None
    row: SparseInput | None = None
    estimator: str | None = None

    def __len__(self) -> int:
        return 1


def explain(served: Served, why: Why) -> bytes:
    """The body of the response."""
    label = served.ids_of([why.label])
    spans = [] if why.text is None else word_spans(why.text)[:MOST_WORDS]
    texts = [] if why.text is None else [why.text, *_without(why.text, spans)]
    rows = as_rows(served, texts, [] if why.row is None else [why.row])
    sketch = served.predictor.bucket_probabilities(rows.slice(0, 1))
    scores = [
        _scores(served, served.predictor.bucket_probabilities(rows.slice(start, stop)), label, why.estimator)
        for start, stop in row_batches(rows.n_rows, AT_A_TIME)
    ]
    effects = np.concatenate(scores)[0] - np.concatenate(scores)[1:]
    buckets = evidence(served, sketch[0], label)[0]
    repetitions = [
        {"repetition": r, "bucket": bucket, "probability": probability, "rank": rank, "agrees": rank <= AGREES}
        for r, (bucket, probability, rank) in enumerate(zip(*buckets.values(), strict=True))
    ]
    body = {
        "model": served.version,
        "label": served.predictor.names(label).tolist()[0],
        "score": numbers(scores[0][:1])[0],
        "estimator": why.estimator or served.predictor.estimator,
        "agreeing": sum(each["agrees"] for each in repetitions),
        "repetitions": repetitions,
        "rivals": _rivals(served, sketch, int(label[0]), why.estimator),
        "words": [
            {"word": why.text[start:end], "start": start, "end": end, "effect": effect}
            for (start, end), effect in zip(spans, numbers(effects), strict=True)
            if why.text is not None
        ],
    }
    return json.dumps(body, ensure_ascii=False).encode()


def _without(text: str, spans: list[tuple[int, int]]) -> list[str]:
    """The text without each of the words."""
    return [f"{text[:start]} {text[end:]}" for start, end in spans]


def _scores(served: Served, sketch: FloatArray, label: IntArray, estimator: str | None) -> FloatArray:
    """One label's score in each row."""
    best = served.predictor.decoder.top_k(sketch, 1, estimator=estimator, candidates=label, threads=1)
    scores: FloatArray = best.scores[:, 0]
    return scores


def _rivals(served: Served, sketch: FloatArray, label: int, estimator: str | None) -> list[dict[str, Any]]:
    """The best labels that share a bucket with this one, and in which repetitions they do."""
    hashes = served.predictor.hashes
    own = [int(hashes.buckets(np.array([label]), r)[0]) for r in range(hashes.n_repetitions)]
    sharing = np.concatenate([bucket_members(hashes, r, bucket) for r, bucket in enumerate(own)]).astype(np.int64)
    others = np.setdiff1d(sharing, [label])
    if not len(others):
        return []
    decoder = served.predictor.decoder
    best = decoder.top_k(sketch, RIVALS, estimator=estimator, candidates=others, threads=1)
    ids = best.ids[0]
    shared = np.stack([hashes.buckets(ids, r) == bucket for r, bucket in enumerate(own)], axis=1)
    names, scores = served.predictor.names(ids).tolist(), numbers(best.scores[0])
    return [
        {"label": name, "score": score, "shared": np.flatnonzero(which).tolist()}
        for name, score, which in zip(names, scores, shared, strict=True)
    ]
