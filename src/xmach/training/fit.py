"""`fit`: the one way to train, in memory or into a model folder that a later run can resume."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from logging import getLogger
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from xmach.config import AUTO, EXECUTORS, MachConfig
from xmach.data import Dataset, LabelTexts
from xmach.data.labels.mapped_names import MappedNames
from xmach.errors import Interrupted, NotStorable, ParameterError, XmachError
from xmach.evaluation import settle
from xmach.executors import Executor, executor_named
from xmach.features import fit_scaler
from xmach.learners import Outcome, PartLearner
from xmach.parameters import whole
from xmach.planning import human_bytes, usable_cores
from xmach.predictor import Predictor
from xmach.store import ModelStore, load
from xmach.training.automatic import decided
from xmach.training.doubts import doubts, doubts_about_ranker, warn
from xmach.training.fitted import Fitted
from xmach.training.held_out import with_held_out_rows
from xmach.training.job import Job, is_built_in, plan_training
from xmach.training.memory import check_budget, expected_model_bytes, workers_within
from xmach.training.preparing import prepared_rows
from xmach.training.ranker_budget import check_ranker_bytes
from xmach.training.ranking import train_ranking
from xmach.training.run import ProgressHandler, Resources, StageProgress, train, watched
from xmach.training.shares import Share, check_divisible, share_of, train_share
from xmach.training.trial import in_trial
from xmach.types import OnProgress, TextRows

_log = getLogger(__name__)
T = TypeVar("T")


def fit(
    data: Dataset,
    config: MachConfig,
    folder: str | os.PathLike[str] | None = None,
    only: Sequence[int] | None = None,
    executor: str | Executor = AUTO,
    validation: Dataset | None = None,
    on_progress: ProgressHandler | None = None,
    *,
    text: TextRows | None = None,
    multilabel: bool | None = None,
    workers: int | None = None,
    memory: int | None = None,
    label_text: LabelTexts | None = None,
    only_ranker: tuple[int, int] | None = None,
) -> Fitted:
    """Train a model: scale the rows, plan, train the repetitions, settle the estimator, finish.

    Parameters
    ----------
    data : the rows to train on
    config : what to train
    folder : where the model goes; the same call resumes what was stopped or killed. None trains in memory.
    only : the repetitions to train, all by default. Parts that other machines trained are joined by copying their
        files into one folder and calling `fit` there once more
    executor : "auto", "local", "pool", or an executor
    validation : rows to stop early on, and to choose the estimator and the multilabel threshold on
    on_progress : called now and then with a `StageProgress`; training stops if it raises, and can be resumed
    text : the vectorizer that made the rows, if they were texts
    multilabel : whether rows may have several labels; None: if some row does not have exactly one
    workers : repetitions trained at a time; None: one per core
    memory : a budget in bytes, which may reduce the workers
    label_text : texts of labels as rows of the vectorizer that made `data`; `data` must have all of these labels
    only_ranker : (i, n) trains share i of n of the ranker, counted from 1, once the folder has all repetitions; a call
        without it joins the shares
    """
    _check_arguments(data, config, validation, executor, label_text)
    memory = None if memory is None else whole("memory", memory, 1)
    store = None if folder is None else ModelStore(Path(folder))
    share = share_of(only_ranker, only, store)
    begun = None if store is None else store.begun_plan()
    data, validation = with_held_out_rows(data, validation, config, label_text is not None, begun)
    scaler, asked = fit_scaler(data.features, config.scaling), config.ranker
    config = decided(config, data, validation, scaler, begun)
    wanted = _wanted(only, config.n_repetitions)
    workers = min(usable_cores() if workers is None else whole("workers", workers, 1), len(wanted))
    if not in_trial():
        warn(doubts(data, config) + doubts_about_ranker(data, config, asked, validation, label_text))
    check_budget(memory, config, data=data)
    job = plan_training(
        data, config, scaler, validation=validation, text=text, multilabel=multilabel, fingerprints=store is not None,
        begun=begun, on_progress=_counting_labels(on_progress, data.n_labels), label_text=label_text,
    )  # fmt: skip
    resources = Resources(store, _executor(job, executor, workers, memory, store), on_progress)
    _check_ranker(job, share)
    missing = wanted if store is None else _begin(store, job, wanted, text)
    outcomes = _trained(job, missing, resources) if missing else {}
    if store is None:
        return _in_memory(job, config, outcomes, text, resources)
    return _finish(store, job, config, len(missing), resources, share)


def _check_arguments(data: Any, config: Any, validation: Any, executor: Any, label_text: Any) -> None:
    given = [("data", data, Dataset), ("config", config, MachConfig)]
    given += [] if validation is None else [("validation", validation, Dataset)]
    given += [] if label_text is None else [("label_text", label_text, LabelTexts)]
    hints = {Dataset: "; Dataset.from_arrays(X, y) makes one of arrays", LabelTexts: "; see add_label_texts"}
    for name, value, kind in given:
        if not isinstance(value, kind):
            raise ParameterError(f"{name} must be a {kind.__name__}, got {type(value).__name__}{hints.get(kind, '')}")
    if label_text is not None:
        label_text.check_fits(data)
    if not isinstance(executor, str) and not hasattr(executor, "run"):
        raise ParameterError(f"executor must be one of {', '.join(EXECUTORS)}, or an executor; got {executor!r}")


def _wanted(only: Sequence[int] | None, n_repetitions: int) -> list[int]:
    """The repetitions to train, each once and in order."""
    if only is None:
        return list(range(n_repetitions))
    if isinstance(only, str) or not hasattr(only, "__iter__"):
        raise ParameterError(f"only must be a list of repetitions such as [0, 1], got {only!r}")
    wanted = sorted({whole("every repetition in only", r, 0, n_repetitions - 1) for r in only})
    if not wanted:
        raise ParameterError("only is empty: name the repetitions to train, or leave it out to train all")
    return wanted


def _check_ranker(job: Job, share: Share | None) -> None:
    """Reject a budget that the ranker cannot keep, and a share of one that cannot be divided."""
    check_ranker_bytes(job)
    if share is not None:
        check_divisible(job)


def _counting_labels(on_progress: ProgressHandler | None, n_labels: int) -> OnProgress | None:
    """Report tables of clustered buckets as labels; None if nobody asks."""
    if on_progress is None:
        return None
    return lambda done, total: on_progress(
        StageProgress("clustering labels", done * n_labels, total * n_labels, "labels")
    )


def _executor(
    job: Job, executor: str | Executor, workers: int, memory: int | None, store: ModelStore | None
) -> Executor:
    """The executor, with as many workers as the memory allows; raises NotStorable if the model cannot be stored."""
    if store is not None and not is_built_in(job.plan):
        raise NotStorable(
            f"a model of {job.plan.learner} cannot be stored: train without a folder, and pickle the result"
        )
    if memory is not None:
        workers = workers_within(job, memory, workers)
    runner = executor_named(executor, workers) if isinstance(executor, str) else executor
    if memory is not None and runner.workers > workers:
        raise ParameterError(f"memory: {workers} repetitions fit at a time, but the executor runs {runner.workers}")
    return runner


def _begin(store: ModelStore, job: Job, wanted: Sequence[int], text: TextRows | None) -> list[int]:
    """Write the plan, or check that the folder's is the same; return the repetitions that are still to be trained."""
    data, hashes = job.data, job.plan.hashes
    store.begin(job.plan, data.label_counts(), data.label_names, job.scaler, text)
    store.check_present()
    if isinstance(job.learner, PartLearner):
        sizes = [len(buckets) for buckets in job.learner.parts(hashes.n_buckets)]
        warn([f"{path} is damaged: this part is trained again" for path in store.drop_damaged_parts(sizes)])
    warn([f"{path} is damaged: this shard is made again" for path in store.drop_damaged_pieces()])
    missing = [r for r in wanted if not store.has(r)]
    if in_trial():
        return missing
    _log.info(
        f"{data.n_rows:,} rows, {data.n_features:,} features, {data.n_labels:,} labels; {job.plan.learner} learner, "
        f"{hashes.n_buckets:,} {job.plan.bucketing} buckets; {len(missing)} of {hashes.n_repetitions} repetitions to "
        f"train{_expected_size(job)}"
    )
    return missing


def _expected_size(job: Job) -> str:
    """How large a model of linear buckets will be, in words; a network's size is known from its shape."""
    return f"; about {human_bytes(expected_model_bytes(job))} in all" if job.plan.linear is not None else ""


def _trained(job: Job, missing: Sequence[int], resources: Resources) -> dict[int, Outcome]:
    """Train the missing repetitions; no scaled row stays in memory."""
    runner, store = resources.executor, resources.store
    try:
        with prepared_rows(job, runner) as shared, watched(job, missing, store, resources.on_progress) as board:
            return train(shared, missing, runner, board, store)
    except Interrupted:
        raise Interrupted(_how_to_resume(store, missing)) from None


def _how_to_resume(store: ModelStore | None, missing: Sequence[int]) -> str:
    if store is None:
        return "stopped; nothing was kept, because there is no folder to keep it in"
    unfinished = sum(not store.has(r) for r in missing)
    if not unfinished:
        return f"stopped before the ranker was finished; {store.folder} keeps what was done: run it again to resume"
    return (
        f"stopped with {unfinished} of {len(missing)} repetitions unfinished; {store.folder} keeps what was done: run "
        "the same command again to resume"
    )


def _in_memory(
    job: Job, config: MachConfig, outcomes: dict[int, Outcome], text: TextRows | None, resources: Resources
) -> Fitted:
    """Train the second stage once every repetition is there, and settle the estimator."""
    predictor = _predictor(job, outcomes, text)
    if len(outcomes) == config.n_repetitions:
        predictor = replace(predictor, ranking=train_ranking(job, predictor, config, resources, fit))
    settled, metrics = settle(predictor, job.validation, config.estimator)
    return Fitted(job.plan, settled, {r: each.history for r, each in outcomes.items()}, metrics, len(outcomes))


def _predictor(job: Job, outcomes: dict[int, Outcome], text: TextRows | None) -> Predictor:
    """The predictor of models in memory; its estimator and threshold are not settled yet."""
    plan, present, names = job.plan, sorted(outcomes), job.data.label_names
    return Predictor(
        models=tuple(outcomes[r].model for r in present),
        hashes=plan.hashes if len(present) == plan.hashes.n_repetitions else plan.hashes.subset(present),
        scaler=job.scaler,
        label_counts=job.data.label_counts(),
        label_names=names if names is None or isinstance(names, MappedNames) else np.array(names),
        text=text,
        multilabel=plan.multilabel,
        mean_labels=plan.mean_labels,
        feature_names=None if plan.columns is None else tuple(plan.columns["features"]),
    )


def _train_share(store: ModelStore, job: Job, config: MachConfig, share: Share, resources: Resources) -> None:
    """Train a share of the ranker, unless the model is finished."""
    if store.manifest() is not None:
        _log.info("the model is finished: there is nothing to do for only_ranker")
        return
    _unless_finished(store, lambda: train_share(job, config, share, store, resources, fit))


def _unless_finished(store: ModelStore, work: Callable[[], T]) -> T | None:
    """Do the work; None if it failed because another process has finished the model, and removed what it needs."""
    try:
        return work()
    except Interrupted:
        raise Interrupted(_how_to_resume(store, [])) from None
    except (XmachError, OSError):
        if store.manifest() is None:
            raise
        _log.info("another process has finished the model meanwhile")
        return None


def _finish(
    store: ModelStore, job: Job, config: MachConfig, trained: int, resources: Resources, share: Share | None
) -> Fitted:
    """Once every repetition is there, train the second stage, settle the estimator and write the manifest.

    With a `share`, only that much of the second stage is trained.
    """
    history = {r: store.history(r) for r in store.present()}
    if share is not None and len(history) == config.n_repetitions:
        _train_share(store, job, config, share, resources)
    manifest, ranking = store.manifest(), None
    if len(history) < config.n_repetitions or (manifest is None and share is not None):
        return Fitted(job.plan, None, history, {}, trained)
    if manifest is None:
        ranking = _unless_finished(
            store, lambda: train_ranking(job, load(store.folder, allow_partial=True), config, resources, fit)
        )
        manifest = store.manifest()
    if manifest is None or config.estimator not in (AUTO, manifest["estimator"]):
        predictor = load(store.folder, allow_partial=True)
        predictor = replace(predictor, ranking=ranking) if manifest is None else predictor
        settled, metrics = settle(predictor, job.validation, config.estimator)
        store.finish(settled.estimator, settled.threshold, metrics, settled.ranking)
    else:
        metrics = manifest["metrics"]
        store.clean()  # what a process left that was killed at its end, or was slower than another
    return Fitted(job.plan, load(store.folder, verify=False), history, metrics, trained)
