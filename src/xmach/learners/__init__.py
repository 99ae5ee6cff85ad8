"""Learners: (rows, bucket targets) -> bucket model. Only this package may import a training framework."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from xmach.config import LinearSettings, NetworkSettings
from xmach.learners.learner_choice import compare_learners
from xmach.learners.linear import LinearLearner, PreparedRows, prepare_rows
from xmach.learners.linear_choice import Choice, choose_settings
from xmach.learners.network import stream
from xmach.learners.session import NetworkLearner
from xmach.learners.softmax import SoftmaxLearner
from xmach.learners.task import LabelledRows, Learner, Outcome, PartLearner, Task

if TYPE_CHECKING:
    from xmach.learners.sklearn_ import SklearnLearner

__all__ = [
    "Choice",
    "LabelledRows",
    "Learner",
    "LinearLearner",
    "LinearSettings",
    "NetworkLearner",
    "NetworkSettings",
    "Outcome",
    "PartLearner",
    "PreparedRows",
    "SklearnLearner",
    "SoftmaxLearner",
    "Task",
    "choose_settings",
    "compare_learners",
    "prepare_rows",
    "stream",
]


def __getattr__(name: str) -> Any:
    """Import scikit-learn, which takes 1.5 s, only when its learner is used."""
    if name != "SklearnLearner":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from xmach.learners.sklearn_ import SklearnLearner

    return SklearnLearner
