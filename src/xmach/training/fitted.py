"""What a training run gave."""

from __future__ import annotations

from dataclasses import dataclass

from xmach.planning import Plan
from xmach.predictor import Predictor

History = dict[int, list[dict[str, float]]]


@dataclass(frozen=True, repr=False)
class Fitted:
    """What a training run gave."""

    plan: Plan
    predictor: Predictor | None  # of a folder, None while repetitions are missing or the ranker is unfinished
    history: History  # losses of each epoch, by repetition
    metrics: dict[str, float]  # on validation rows: P@1 of each estimator
    trained: int  # repetitions that this run trained

    def __repr__(self) -> str:
        present, total = len(self.history), self.plan.hashes.n_repetitions
        return f"<Fitted: {present} of {total} repetitions, {self.trained} of them trained now, metrics={self.metrics}>"

    @property
    def complete(self) -> bool:
        """Whether every repetition is there, and the ranker if the model has one."""
        return self.predictor is not None and len(self.history) == self.plan.hashes.n_repetitions
