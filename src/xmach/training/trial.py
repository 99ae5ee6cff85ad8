"""The trial: a model of fewer rows that chooses the ranker's settings on the others, and is then thrown away."""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import replace
from logging import getLogger
from typing import Any

from xmach.block_sizes import TRIAL_REPETITIONS
from xmach.config import SOFTMAX, MachConfig
from xmach.data import Dataset
from xmach.errors import ModelError
from xmach.files import remove_at_once
from xmach.ranking import Fusion
from xmach.store import ModelStore
from xmach.store.folder import MANIFEST
from xmach.training.choice import RankerChoice
from xmach.training.doubts import warn
from xmach.training.fitted import Fitted
from xmach.training.held_out import split_rows
from xmach.training.job import Job
from xmach.training.run import Resources, StageProgress

_log = getLogger(__name__)
_in_trial = ContextVar("_in_trial", default=False)


def in_trial() -> bool:
    """Whether a trial is trained, which leaves the talking to its model."""
    return _in_trial.get()


def trial_is_finished(store: ModelStore) -> bool:
    """Whether the trial model in a model's folder is there as a whole."""
    return (store.trial_folder() / MANIFEST).exists()


def choose_by_trial(
    job: Job, config: MachConfig, resources: Resources, fit: Callable[..., Fitted]
) -> RankerChoice | None:
    """Choose on rows that a trial model is trained without, by `fit`; None if there are too few rows."""
    split = split_rows(job.data, job.plan.seed, job.label_text is not None)
    if split is None:
        return None
    if resources.store is None or not trial_is_finished(resources.store):
        _log.info(
            f"trial: a model of {len(split.kept):,} rows is trained, which chooses the ranker's settings on the other "
            f"{len(split.held_out):,} rows and is then thrown away"
        )

    def report(progress: StageProgress) -> None:
        if resources.on_progress is not None:
            resources.on_progress(progress._replace(stage=f"trial: {progress.stage}"))

    rows, held_out = job.data.take(split.kept), job.data.take(split.held_out)
    job.data.let_go()
    options: dict[str, Any] = {
        "executor": resources.executor,
        "on_progress": report,
        "label_text": job.label_text,
        "validation": held_out,
    }
    config, store, trial = _trial_config(job, config), resources.store, _in_trial.set(True)
    try:
        fitted = fit(rows, config, **options) if store is None else _resumed(fit, store, rows, config, options)
    finally:
        _in_trial.reset(trial)
    assert fitted.predictor is not None
    ranking = fitted.predictor.ranking
    return RankerChoice(Fusion({"mach": 1.0}), 0.0) if ranking is None else RankerChoice(ranking.fusion, ranking.cost)


def _trial_config(job: Job, config: MachConfig) -> MachConfig:
    """The configuration of a trial: that of the model, with what was decided for it and with fewer repetitions."""
    linear = job.plan.linear
    settings: dict[str, Any] = {}
    if linear is not None and linear.linear_loss != SOFTMAX:
        settings = {"cost": linear.cost, "passes": linear.passes}
    fewer = min(config.n_repetitions, TRIAL_REPETITIONS)
    return replace(config, n_repetitions=fewer, estimator="log", scaling=job.scaler.kind, **settings)


def _resumed(
    fit: Callable[..., Fitted], store: ModelStore, rows: Dataset, config: MachConfig, options: dict[str, Any]
) -> Fitted:
    """Train the trial model, or what is missing of it; from the start if what is there cannot be used."""
    folder = store.trial_folder()
    try:
        return fit(rows, config, folder, **options)
    except ModelError as error:
        if store.manifest() is not None:  # another process has finished the model, and removed its trial
            raise
        warn([f"{folder} is damaged, or of another version of xmach ({error}): the trial begins anew"])
        remove_at_once(folder)
        return fit(rows, config, folder, **options)
