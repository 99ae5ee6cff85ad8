"""`fit`: the one way to train, in memory or into a model folder that a later run can resume."""

from __future__ import annotations

import inspect
import os
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from logging import getLogger
from pathlib import Path
from typing import Any

import numpy as np

from xmach.block_sizes import MANY_ROWS, TRIAL_REPETITIONS
from xmach.buckets import clustered_repetitions
from xmach.config import AUTO, EXECUTORS, NONE, RANDOM, SOFTMAX, MachConfig
from xmach.data import Dataset, LabelTexts
from xmach.data.labels.mapped_names import MappedNames
from xmach.data.npy import save_array
from xmach.errors import Interrupted, ModelError, NotStorable, ParameterError, XmachError
from xmach.evaluation import settle
from xmach.executors import Executor, executor_named
from xmach.features import fit_scaler
from xmach.files import remove_at_once, scratch_folder
from xmach.learners import LinearLearner, Outcome, PartLearner, SoftmaxLearner, prepare_rows
from xmach.parameters import whole
from xmach.planning import Plan, decide, human_bytes, usable_cores
from xmach.predictor import Predictor
from xmach.ranking import Ranking
from xmach.store import ModelStore, load
from xmach.training.automatic import decided
from xmach.training.job import Job, facts_of, is_built_in, plan_training
from xmach.training.memory import check_budget, expected_model_bytes, workers_within
from xmach.training.ranking import Choice, RankingTrainer, check_ranker_bytes
from xmach.training.run import ProgressHandler, StageProgress, train, watched
from xmach.training.trial import split_rows as split_for_trial
from xmach.types import TextRows

_log = getLogger(__name__)
_in_trial = ContextVar("_in_trial", default=False)  # whether a trial is trained, which leaves the talking to its model
History = dict[int, list[dict[str, float]]]


@dataclass(frozen=True, repr=False)
class Fitted:
    """What a training run gave."""

    plan: Plan
    predictor: Predictor | None  # of a folder, None while repetitions are missing
    history: History  # losses of each epoch, by repetition
    metrics: dict[str, float]  # on validation rows: P@1 of each estimator
    trained: int  # repetitions that this run trained

    def __repr__(self) -> str:
        present, total = len(self.history), self.plan.hashes.n_repetitions
        return f"<Fitted: {present} of {total} repetitions, {self.trained} of them trained now, metrics={self.metrics}>"

    @property
    def complete(self) -> bool:
        """Whether every repetition is there."""
        return len(self.history) == self.plan.hashes.n_repetitions


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
) -> Fitted:
    """Train a model: scale the rows, plan, train the repetitions, settle the estimator, finish.

    Parameters
    ----------
    data : the rows to train on
    config : what to train
    folder : where the model goes; the same call resumes what was stopped or killed. None trains in memory.
    only : the repetitions to train, all by default. Parts that other machines trained are joined by copying their
        files into one folder and calling `fit` there once more.
    executor : "auto", "local", "pool", or an executor
    validation : rows to stop early on, and to choose the estimator and the multilabel threshold on
    on_progress : called now and then with a `StageProgress`; training stops if it raises, and can be resumed
    text : the vectorizer that made the rows, if they were texts
    multilabel : whether rows may have several labels; None: if some row does not have exactly one
    workers : repetitions trained at a time; None: one per core
    memory : a budget in bytes, which may reduce the workers
    label_text : texts of labels as rows of the vectorizer that made `data`; `data` must have all of these labels
    """
    _check_arguments(data, config, validation, executor, label_text)
    memory = None if memory is None else whole("memory", memory, 1)
    store = None if folder is None else ModelStore(Path(folder))
    begun = None if store is None else store.begun_plan()
    data, validation = _with_held_out_rows(data, validation, config, label_text is not None, begun)
    scaler, asked = fit_scaler(data.features, config.scaling), config.ranker
    config = decided(config, data, validation, scaler, begun)
    wanted = _wanted(only, config.n_repetitions)
    workers = min(usable_cores() if workers is None else whole("workers", workers, 1), len(wanted))
    if not _in_trial.get():
        _warn(_doubts(data, config) + _doubts_about_ranker(data, config, asked, validation, label_text))
    check_budget(memory, config, data=data)

    def count_labels(done: int, total: int) -> None:
        if on_progress is not None:
            on_progress(StageProgress("clustering labels", done * data.n_labels, total * data.n_labels, "labels"))

    job = plan_training(
        data,
        config,
        scaler,
        validation=validation,
        text=text,
        multilabel=multilabel,
        fingerprints=store is not None,
        begun=begun,
        on_progress=count_labels,
        label_text=label_text,
    )
    if store is not None and not is_built_in(job.plan):
        raise NotStorable(
            f"a model of {job.plan.learner} cannot be stored: train without a folder, and pickle the result"
        )
    if memory is not None:
        workers = workers_within(job, memory, workers)
    runner = executor_named(executor, workers) if isinstance(executor, str) else executor
    if memory is not None and runner.workers > workers:
        raise ParameterError(f"memory: {workers} repetitions fit at a time, but the executor runs {runner.workers}")
    check_ranker_bytes(job.plan)
    missing = wanted if store is None else _begin(store, job, wanted, text)
    outcomes = _trained(job, missing, runner, store, on_progress) if missing else {}
    if store is None:
        predictor = _predictor(job, outcomes, text)
        if len(outcomes) == config.n_repetitions:
            predictor = replace(predictor, ranking=_ranking(job, predictor, config, None, runner, on_progress))
        settled, metrics = settle(predictor, job.validation, config.estimator)
        return Fitted(job.plan, settled, {r: each.history for r, each in outcomes.items()}, metrics, len(missing))
    return _finish(store, job, config, len(missing), runner, on_progress)


def _trained(
    job: Job, missing: Sequence[int], runner: Executor, store: ModelStore | None, on_progress: ProgressHandler | None
) -> dict[int, Outcome]:
    """Train the missing repetitions; no scaled row stays in memory."""
    try:
        with _prepared_rows(job, runner) as shared, watched(job, missing, store, on_progress) as board:
            return train(shared, missing, runner, board, store)
    except Interrupted:
        raise Interrupted(_how_to_resume(store, missing)) from None


def _ranking(
    job: Job,
    predictor: Predictor,
    config: MachConfig,
    store: ModelStore | None,
    executor: Executor,
    on_progress: ProgressHandler | None,
) -> Ranking | None:
    """Train the second stage, if the plan has one."""
    if job.plan.ranker == NONE:
        return None
    choice = None
    if job.validation is None:
        choice = _chosen_by_trial(job, config, store, executor, on_progress)
        if choice is None:
            _log.info("too few rows to weigh a ranker against the sketch: the model has none")
            return None
    trainer = RankingTrainer(
        job.plan, job.data, predictor, job.label_text, store=store, executor=executor, on_progress=on_progress
    )
    ranking, choice = trainer.train(job.validation, choice)
    if not _in_trial.get():
        _log.info(f"ranker: {_in_words(ranking)}")
    return ranking


def _in_words(ranking: Ranking) -> str:
    """What a ranker weighs."""
    weights = ranking.fusion.weights
    if set(weights) == {"mach"}:
        return "no other part than the sketch's own score helped on held-out rows"
    cost = f"; cost {ranking.cost:g}" if "ranker" in weights else ""
    parts = ", ".join(f"{name} {weight:.3g}" for name, weight in weights.items())
    return f"parts by weight: {parts}{cost}; {ranking.n_weights:,} values stored"


def _chosen_by_trial(
    job: Job,
    config: MachConfig,
    store: ModelStore | None,
    executor: Executor,
    on_progress: ProgressHandler | None,
) -> Choice | None:
    """Choose on rows that a trial model is trained without; None if there are too few rows."""
    split = split_for_trial(job.data, job.plan.seed, job.label_text is not None)
    if split is None:
        return None

    _log.info(
        f"trial: a model of {len(split.kept):,} rows is trained, which chooses the ranker's settings on the other "
        f"{len(split.held_out):,} rows and is then thrown away"
    )

    def report(progress: StageProgress) -> None:
        if on_progress is not None:
            on_progress(progress._replace(stage=f"trial: {progress.stage}"))

    settings = {"cost": job.plan.linear.cost, "passes": job.plan.linear.passes} if job.plan.linear is not None else {}
    if job.plan.linear is not None and job.plan.linear.linear_loss == SOFTMAX:
        settings = {}
    fewer = min(config.n_repetitions, TRIAL_REPETITIONS)
    config = replace(config, n_repetitions=fewer, estimator="log", scaling=job.scaler.kind, **settings)
    options: dict[str, Any] = {"executor": executor, "on_progress": report, "label_text": job.label_text}
    rows, options["validation"] = job.data.take(split.kept), job.data.take(split.held_out)
    job.data.let_go()
    trial = _in_trial.set(True)
    try:
        fitted = fit(rows, config, **options) if store is None else _resumed_trial(store, rows, config, options)
    finally:
        _in_trial.reset(trial)
    assert fitted.predictor is not None
    assert fitted.predictor.ranking is not None
    return Choice(fitted.predictor.ranking.fusion, fitted.predictor.ranking.cost)


def _resumed_trial(store: ModelStore, rows: Dataset, config: MachConfig, options: dict[str, Any]) -> Fitted:
    """Train the trial model, or what is missing of it; from the start if what is there cannot be used."""
    folder = store.trial_folder()
    try:
        return fit(rows, config, folder, **options)
    except ModelError as error:
        if store.manifest() is not None:  # another process has finished the model, and removed its trial
            raise
        _warn([f"{folder} is damaged, or of another version of xmach ({error}): the trial begins anew"])
        remove_at_once(folder)
        return fit(rows, config, folder, **options)


def _with_held_out_rows(
    data: Dataset, validation: Dataset | None, config: MachConfig, with_texts: bool, begun: Plan | None
) -> tuple[Dataset, Dataset | None]:
    """The rows to train on and to choose on: of many rows some are held out for the ranker, if it has no others."""
    if validation is not None or data.n_rows < MANY_ROWS:
        return data, validation
    if begun is not None and config.ranker == AUTO:  # an older version may have begun it without a ranker
        config = replace(config, ranker=begun.ranker)
    if decide(config, facts_of(data)).ranker == NONE:
        return data, validation
    split = split_for_trial(data, config.seed, with_texts)
    if split is None:
        return data, None
    _log.info(f"{len(split.held_out):,} rows are held out to choose settings on")
    kept, held_out = data.take(split.kept), data.take(split.held_out)
    data.let_go()
    return kept, held_out


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


def _begin(store: ModelStore, job: Job, wanted: Sequence[int], text: TextRows | None) -> list[int]:
    """Write the plan, or check that the folder's is the same; return the repetitions that are still to be trained."""
    data, hashes = job.data, job.plan.hashes
    store.begin(job.plan, data.label_counts(), data.label_names, job.scaler, text)
    store.check_present()
    if isinstance(job.learner, PartLearner):
        sizes = [len(buckets) for buckets in job.learner.parts(hashes.n_buckets)]
        _warn([f"{path} is damaged: this part is trained again" for path in store.drop_damaged_parts(sizes)])
    _warn([f"{path} is damaged: this shard is made again" for path in store.drop_damaged_pieces()])
    missing = [r for r in wanted if not store.has(r)]
    if _in_trial.get():
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


def _finish(
    store: ModelStore,
    job: Job,
    config: MachConfig,
    trained: int,
    executor: Executor,
    on_progress: ProgressHandler | None,
) -> Fitted:
    """Settle the estimator and write the manifest once every repetition is there."""
    present = store.present()
    history = {r: store.history(r) for r in present}
    if len(present) < config.n_repetitions:
        return Fitted(job.plan, None, history, {}, trained)
    manifest, ranking = store.manifest(), None
    if manifest is None:
        try:
            ranking = _ranking(job, load(store.folder, allow_partial=True), config, store, executor, on_progress)
        except Interrupted:
            raise Interrupted(_how_to_resume(store, [])) from None
        except (XmachError, OSError):
            manifest = store.manifest()
            if manifest is None:
                raise
            _log.info("another process has finished the model meanwhile")
    if manifest is None or config.estimator not in (AUTO, manifest["estimator"]):
        predictor = load(store.folder, allow_partial=True)
        predictor = replace(predictor, ranking=ranking) if manifest is None else predictor
        settled, metrics = settle(predictor, job.validation, config.estimator)
        store.finish(settled.estimator, settled.threshold, metrics, settled.ranking)
    else:
        metrics = manifest["metrics"]
        store.clean()  # what a process left that was killed at its end, or was slower than another
    return Fitted(job.plan, load(store.folder, verify=False), history, metrics, trained)


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


@contextmanager
def _prepared_rows(job: Job, executor: Executor) -> Iterator[Job]:
    """The job with its rows as its learner wants them, in files if worker processes are to share one copy of them.

    Linear buckets visit every row many times, so rows are scaled once.
    """
    share = executor.workers > 1
    linear = isinstance(job.learner, LinearLearner | SoftmaxLearner)
    if not linear and (not share or job.data.folder is not None):
        yield job
        return
    with scratch_folder() as folder:
        if linear:
            job = _with_scaled_rows(job, folder if share else None)
        else:
            job = replace(job, data=job.data.save(folder / "data"))
            if job.validation is not None:
                job = replace(job, validation=job.validation.save(folder / "validation"))
        yield job


def _with_scaled_rows(job: Job, folder: Path | None) -> Job:
    """The job with rows scaled for linear buckets: in memory, or mapped from a folder, without a copy in memory."""
    learner, data = job.learner, job.data
    assert isinstance(learner, LinearLearner | SoftmaxLearner)
    rows, features, scale = prepare_rows(data.features, job.scaler)
    # it is never compared with another: no time is spent on a fingerprint
    scaled = Dataset(rows, data.labels, weights=data.weights, stored_fingerprint="", columns=data.columns)
    if folder is None:
        learner = replace(learner, features=features, scale=scale)
    else:
        save_array(folder / "features.npy", features)
        learner = replace(learner, features=folder / "features.npy", scale=scale)
        scaled = scaled.save(folder / "data")
    data.let_go()
    return replace(job, data=scaled, validation=None, learner=learner)  # validation rows chose the settings


def _doubts(data: Dataset, config: MachConfig) -> list[str]:
    """What to say about settings that save or change nothing."""
    messages = []
    if config.n_buckets > data.n_labels:
        messages.append(
            f"n_buckets={config.n_buckets} is more than the {data.n_labels} labels: hashing saves nothing here"
        )
    if config.bucketing != RANDOM and not clustered_repetitions(config.bucketing, config.n_repetitions):
        messages.append(f"with one repetition, bucketing={config.bucketing!r} is random buckets")
    return messages


def _doubts_about_ranker(
    data: Dataset, config: MachConfig, asked: str, validation: Dataset | None, label_text: LabelTexts | None
) -> list[str]:
    """What to say if there will be no ranker, but somebody asked for one or gave texts of labels."""
    if asked == NONE or (asked == AUTO and label_text is None):
        return []
    unused = "" if label_text is None else "; labels with a text join, but their texts are not used"
    if config.ranker == NONE:
        return [f"only linear buckets have a ranker by themselves{unused}; ask for one with ranker='linear'"]
    if validation is None and split_for_trial(data, config.seed, label_text is not None) is None:
        return [f"too few rows to hold some out for a ranker: the model has none{unused}; give validation rows"]
    return []


def _warn(messages: Sequence[str]) -> None:
    """Warn; the warnings point at the caller's line outside xmach."""
    level, frame = 1, inspect.currentframe()
    while frame is not None and frame.f_globals.get("__name__", "").partition(".")[0] == "xmach":
        level, frame = level + 1, frame.f_back
    for message in messages:
        warnings.warn(message, UserWarning, stacklevel=level)
