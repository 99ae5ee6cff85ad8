"""Why a label has its score for one text or row."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from xmach.decoding import Explanation
from xmach.decoding.explanation import Rival, WordEffect, find_rivals, repetition_evidence
from xmach.errors import InputError
from xmach.features import word_spans
from xmach.predictor.inputs import text_list
from xmach.predictor.second_stage import SecondStage
from xmach.predictor.sketching import FEW_ROWS
from xmach.types import FloatArray, IntArray, Rows, SparseRows, TopK, nine_digits, row_batches, slice_rows

if TYPE_CHECKING:
    from xmach.predictor.predictor import Predictor

_MOST_WORDS = 63  # of a text, whose effect `explain` measures; with the whole text four batches


def explain(
    predictor: Predictor, x: Any, ids: IntArray, estimator: str | None, stage: SecondStage | None
) -> Explanation:
    """Explain the score of the label `ids` (1,), which the second stage gives, or without one the estimator."""
    if predictor.text is not None and not isinstance(x, str | SparseRows):
        texts = text_list(x)
        x = texts[0] if len(texts) == 1 else texts
    spans = word_spans(x)[:_MOST_WORDS] if isinstance(x, str) and predictor.text is not None else []
    shortened = [f"{x[:start]} {x[end:]}" for start, end in spans]
    rows = predictor.rows([x, *shortened]) if spans else one_row(predictor, x)
    scores, parts = _scores(predictor, rows, ids, estimator, stage)
    first = slice_rows(rows, 0, 1)
    sketch = predictor.bucket_probabilities(first)
    repetitions = repetition_evidence(predictor.hashes, sketch[0], ids)
    best, shared = _rivals(predictor, first, sketch, int(ids[0]), estimator, stage)
    rivals = predictor.names(best.ids[0]).tolist(), nine_digits(best.scores[0]), shared
    return Explanation(
        label=predictor.names(ids).tolist()[0],
        score=nine_digits(scores[:1])[0],
        estimator=estimator or predictor.ranked_by,
        agreeing=sum(each.agrees for each in repetitions),
        repetitions=repetitions,
        rivals=[Rival(*each) for each in zip(*rivals, strict=True)],
        words=[
            WordEffect(x[start:end], start, end, effect)
            for (start, end), effect in zip(spans, nine_digits(scores[0] - scores[1:]), strict=True)
        ],
        parts=parts,
    )


def _scores(
    predictor: Predictor, rows: Rows, ids: IntArray, estimator: str | None, stage: SecondStage | None
) -> tuple[FloatArray, dict[str, float]]:
    """The label's score for each row, and what each part of the ranker adds to that of the first."""
    scores, parts = list[FloatArray](), dict[str, float]()
    candidates = predictor.decoder.prepare_candidates(ids, rows.shape[0])
    for start, stop in row_batches(rows.shape[0], FEW_ROWS):
        for batch in predictor.batches(slice_rows(rows, start, stop)):
            best = predictor.best(batch, 1, estimator=estimator, candidates=candidates, include_unseen=True, threads=1)
            scores.append(best.scores[:, 0])
            if stage is not None and not parts:
                parts = stage.contributions(batch, ids)
    return np.concatenate(scores), parts


def _rivals(
    predictor: Predictor,
    row: Rows,
    sketch: FloatArray,
    label: int,
    estimator: str | None,
    stage: SecondStage | None,
) -> tuple[TopK, list[list[int]]]:
    """The best labels that share a bucket with this one, and the repetitions in which each does."""
    best, shared = find_rivals(predictor.hashes, predictor.decoder, sketch, label, estimator)
    if stage is None or not best.ids.size:
        return best, shared
    places = {rival: place for place, rival in enumerate(best.ids[0].tolist())}
    best = predictor.top_k(row, len(places), candidates=best.ids[0], include_unseen=True)
    return best, [shared[places[rival]] for rival in best.ids[0].tolist()]


def one_row(predictor: Predictor, x: Any) -> Rows:
    """One text or row as (1, d) rows."""
    if isinstance(x, str) and predictor.text is None:
        raise InputError("this model was not trained on texts: give a row of features")
    rows = predictor.rows([x] if isinstance(x, str) else x if predictor.text is not None else _as_table(x))
    if rows.shape[0] != 1:
        raise InputError(f"x must be one text or row, got {rows.shape[0]} of them")
    return rows


def _as_table(x: Any) -> Any:
    """One row of numbers (a list, a 1-d array or a pandas Series) as a table with one row; anything else as it is."""
    if hasattr(x, "to_frame") and hasattr(x, "index"):
        return x.to_frame().T  # with the feature names, which are then checked
    if isinstance(x, list | tuple):
        return [x] if len(x) and np.ndim(x[0]) == 0 else x
    return x[None] if isinstance(x, np.ndarray) and x.ndim == 1 else x
