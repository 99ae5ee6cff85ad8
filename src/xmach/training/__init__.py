"""Training: `fit` plans, trains the repetitions, settles the estimator and finishes the model."""

from xmach.config import MachConfig
from xmach.planning import Plan
from xmach.training.fit import fit
from xmach.training.fitted import Fitted
from xmach.training.job import Job, plan_training
from xmach.training.memory import check_budget, check_training_memory, workers_within
from xmach.training.repetition import RepetitionSpec, Trained, train_repetition
from xmach.training.run import ProgressHandler, StageProgress, train

__all__ = [
    "Fitted",
    "Job",
    "MachConfig",
    "Plan",
    "ProgressHandler",
    "RepetitionSpec",
    "StageProgress",
    "Trained",
    "check_budget",
    "check_training_memory",
    "fit",
    "plan_training",
    "train",
    "train_repetition",
    "workers_within",
]
