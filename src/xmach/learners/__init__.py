"""Learners: (rows, bucket targets) -> bucket model. Only here may a training framework be imported."""

from xmach.learners.session import NetworkLearner
from xmach.learners.settings import NetworkSettings
from xmach.learners.task import LabelledRows, Learner, Outcome, Task

__all__ = ["LabelledRows", "Learner", "NetworkLearner", "NetworkSettings", "Outcome", "Task"]
