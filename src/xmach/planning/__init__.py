"""Pure numbers: what the paper's theorems promise, and what memory a plan needs."""

from xmach.planning.machine import available_bytes, check_memory, human_bytes, usable_cores
from xmach.planning.memory import (
    inverted_index_bytes,
    network_parameters,
    one_vs_all_parameters,
    prediction_bytes,
    signature_bytes,
    training_bytes,
)
from xmach.planning.theory import collision_probability, indistinguishable_bound, repetitions_needed, unbiased

__all__ = [
    "available_bytes",
    "check_memory",
    "collision_probability",
    "human_bytes",
    "indistinguishable_bound",
    "inverted_index_bytes",
    "network_parameters",
    "one_vs_all_parameters",
    "prediction_bytes",
    "repetitions_needed",
    "signature_bytes",
    "training_bytes",
    "unbiased",
    "usable_cores",
]
