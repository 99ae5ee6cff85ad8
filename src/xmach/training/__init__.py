"""Training: `fit` plans, trains the repetitions, settles the estimator and finishes the model."""

from xmach.config import MachConfig
from xmach.training.fit import Fitted, fit
from xmach.training.memory import check_budget
from xmach.training.run import ProgressHandler, StageProgress

__all__ = ["Fitted", "MachConfig", "ProgressHandler", "StageProgress", "check_budget", "fit"]
