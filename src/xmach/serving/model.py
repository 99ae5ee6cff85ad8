"""A model as it is served: the predictor, its version and its card."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from xmach.errors import InputError, ModelIncomplete
from xmach.predictor import Predictor
from xmach.serving.settings import EXAMPLES_FILE
from xmach.store import ModelStore, load
from xmach.types import SparseRows

_FREQUENT = 5  # names of labels, where nobody gave queries to try
_MOST_EXAMPLES = 20


@dataclass(frozen=True)
class Served:
    """A loaded model; a request is answered by one from beginning to end."""

    predictor: Predictor
    version: str
    card: dict[str, Any]

    @classmethod
    def open(cls, folder: Path, verify: bool = True, examples: Path | None = None) -> Served:
        """Load a finished model folder, and let it answer once, so that the first request does not wait.

        `examples`: a file of queries to try, otherwise that of the folder.
        """
        folder = folder.resolve()  # a link that is turned meanwhile changes nothing
        version = version_of(folder)
        predictor = load(folder, verify=verify)
        warm_up(predictor)
        return cls(
            predictor, version, _card(folder, predictor, version, example_texts(examples or folder / EXAMPLES_FILE))
        )


def example_texts(file: Path) -> list[str]:
    """The queries to try in a file; none if there is no such file."""
    try:
        lines = file.read_text(encoding="utf-8").splitlines()
    except FileNotFoundError:
        return []
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{file}: the examples cannot be read: {error}") from None
    return [line.strip() for line in lines if line.strip()][:_MOST_EXAMPLES]


def version_of(folder: Path) -> str:
    """A short digest of the manifest, which has the checksums of all files: equal models, equal versions."""
    try:
        return hashlib.sha256((folder / "manifest.json").read_bytes()).hexdigest()[:12]
    except FileNotFoundError:
        raise ModelIncomplete(f"{folder}: there is no finished model here (no manifest.json)") from None


def warm_up(predictor: Predictor) -> None:
    """Answer an empty row by every estimator: kernels are compiled or read, tables made, files opened."""
    empty = SparseRows(np.zeros(2, np.int64), np.empty(0, np.int32), np.empty(0, np.float32), predictor.n_features)
    if predictor.text is not None:
        predictor.top_k(["a"], 1)
    predictor.top_k(empty, min(10, predictor.n_labels))
    for estimator in ("mean", "log", "min", "median"):
        predictor.top_k(empty, min(10, predictor.n_labels), estimator=estimator)
        predictor.top_k(empty, 1, estimator=estimator, candidates=np.zeros(1, np.int64))


def _card(folder: Path, predictor: Predictor, version: str, examples: Sequence[str]) -> dict[str, Any]:
    store = ModelStore(folder)
    plan = store.plan()
    return {
        "version": version,
        "name": folder.name,
        "labels": predictor.n_labels,
        "buckets": predictor.hashes.n_buckets,
        "repetitions": len(predictor.models),
        "features": predictor.n_features,
        "learner": plan.learner,
        "hidden": [] if plan.linear is not None else list(plan.settings.hidden),
        "loss": plan.settings.loss if plan.linear is None else plan.linear.linear_loss,
        "estimator": predictor.ranked_by,
        "multilabel": predictor.multilabel,
        "text": predictor.text is not None,
        "bytes": sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()),
        "loaded": datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z"),
        "metrics": _last_evaluation(store),
        "examples": list(examples) or _frequent_names(predictor),
    }


def _last_evaluation(store: ModelStore) -> dict[str, Any] | None:
    """What `xmach evaluate` found last; None if it was not run."""
    evaluations = store.evaluations()
    if not evaluations:
        return None
    last = evaluations[-1]
    return {"file": last["file"], "rows": last["rows"], "values": last["metrics"]}


def _frequent_names(predictor: Predictor) -> list[str]:
    """The names of the most frequent labels, as queries to try on a model of texts."""
    if predictor.text is None or predictor.label_names is None:
        return []
    ids = predictor.label_counts.most_frequent(_FREQUENT)
    return [str(name) for name in predictor.names(ids)]
