"""Training: the plan, one repetition, and the run of them all."""

from xmach.training.plan import Plan
from xmach.training.repetition import RepetitionSpec, Trained, train_repetition
from xmach.training.run import Job, check_training_memory, plan_training, train, workers_within

__all__ = [
    "Job",
    "Plan",
    "RepetitionSpec",
    "Trained",
    "check_training_memory",
    "plan_training",
    "train",
    "train_repetition",
    "workers_within",
]
