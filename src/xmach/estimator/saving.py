"""A fitted classifier as a model folder, and its parameters from one."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from xmach.planning import Plan
from xmach.predictor import Predictor
from xmach.store import replacing
from xmach.types import AnyArray


def write_model(
    folder: Path,
    overwrite: bool,
    predictor: Predictor,
    plan: Plan,
    history: Sequence[list[dict[str, float]]],
    classes: AnyArray,
) -> None:
    """Write a model folder; `overwrite` replaces a model there."""
    with replacing(folder, overwrite) as store:
        store.begin(plan, predictor.label_counts, _stored_names(classes), predictor.scaler, predictor.text)
        for r, (model, losses) in enumerate(zip(predictor.models, history, strict=True)):
            store.put(r, model, losses)
        store.finish(predictor.estimator, predictor.threshold, {}, predictor.ranking)


def plan_parameters(plan: Plan, predictor: Predictor) -> dict[str, Any]:
    """The values in a plan by name: parameters of `MACHClassifier`, and others."""
    return vars(plan.settings if plan.linear is None else plan.linear) | {
        "n_buckets": plan.hashes.n_buckets, "n_repetitions": plan.hashes.n_repetitions, "scaling": plan.scaling,
        "features": predictor.text, "estimator": predictor.estimator, "random_state": plan.seed,
        "learner": plan.learner, "bucketing": plan.bucketing, "ranker": plan.ranker, "ranker_bytes": plan.ranker_bytes,
        "ranker_goal": plan.ranker_goal,
    }  # fmt: skip


def _stored_names(classes: AnyArray) -> AnyArray | None:
    """Class names; None if they are just 0..K-1."""
    plain = classes.dtype.kind in "iu" and bool(np.array_equal(classes, np.arange(len(classes))))
    return None if plain else classes
