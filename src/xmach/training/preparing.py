"""The rows of a job as its learner wants them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from xmach.data import Dataset
from xmach.data.npy import save_array
from xmach.executors import Executor
from xmach.files import scratch_folder
from xmach.learners import LinearLearner, SoftmaxLearner, prepare_rows
from xmach.training.job import Job


@contextmanager
def prepared_rows(job: Job, executor: Executor) -> Iterator[Job]:
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
