"""`label_text` as users hold it (a mapping, a Series, pairs): its labels join the classes, its texts become rows."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from typing import Any

import numpy as np

from xmach.data import LabelTexts
from xmach.data.labels.targets import Targets, with_labels
from xmach.errors import InputError, ParameterError
from xmach.types import TextRows, shortened

_NAME = "label_text"


def join_label_text(targets: Targets, label_text: Any, text: TextRows | None) -> tuple[Targets, LabelTexts]:
    """Return the targets with labels that have only a text, and the texts as rows.

    Labels whose text has no word do not join: nothing could find them.
    """
    if text is None:
        raise ParameterError(
            f"{_NAME} needs texts as X, whose vectorizer it shares: give MACHClassifier features='text'"
        )
    labels, texts = _labels_and_texts(label_text)
    rows = text.transform(texts)
    with_words = np.flatnonzero(np.diff(rows.indptr))
    if not len(with_words):
        raise InputError(f"none of the {len(texts)} texts in {_NAME} has a word; leave it out, or check the texts")
    targets, ids = with_labels(targets, [labels[i] for i in with_words.tolist()], _NAME)
    return targets, LabelTexts.of(ids, rows if len(with_words) == len(texts) else rows.take(with_words))


def _labels_and_texts(label_text: Any) -> tuple[list[Any], list[str]]:
    """The labels, each once, and their texts."""
    labels, texts, seen = list[Any](), list[str](), set[Hashable]()
    for label, text in _pairs(label_text):
        if not isinstance(label, Hashable):
            raise InputError(f"{_NAME} has {shortened(label)} as a label; a label is text or a number")
        if label in seen:
            raise InputError(f"{_NAME} has two texts for the label {shortened(label)}; leave one out, or join them")
        if not isinstance(text, str):
            what = f"the text of label {shortened(label)} is a {type(text).__name__}, not a string"
            raise InputError(f"{_NAME}: {what}; leave the label out, or give '' if it has no text")
        seen.add(label)
        labels.append(label)
        texts.append(text)
    if not labels:
        raise InputError(f"{_NAME} is empty; leave it out if labels have no texts")
    return labels, texts


def _pairs(label_text: Any) -> Iterable[tuple[Any, Any]]:
    if isinstance(label_text, Mapping) or (hasattr(label_text, "items") and getattr(label_text, "ndim", 0) == 1):
        return label_text.items()  # type: ignore[no-any-return]  # of a mapping or a Series
    if isinstance(label_text, list | tuple) and all(
        isinstance(pair, list | tuple) and len(pair) == 2 for pair in label_text
    ):
        return label_text
    raise ParameterError(
        f"{_NAME} must be a mapping from label to text, a Series with the labels as its index, or a list of pairs "
        f"(label, text); got a {type(label_text).__name__}"
    )
