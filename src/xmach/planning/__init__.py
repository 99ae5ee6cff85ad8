"""Pure numbers: what the paper's theorems promise, what memory and work a plan needs, and which plan fits."""

from xmach.planning.automatic import COMPARED_ROWS, RowFacts, decide, is_close, prefers_linear
from xmach.planning.data_size import DataSize
from xmach.planning.figures import Costs, Odds, costs, drawn_pairs, odds
from xmach.planning.linear_proposal import pruned_one_vs_all
from xmach.planning.linear_sizes import (
    LOSS_SHARES,
    TYPICAL_COST,
    expected_weights,
    kept_weights,
    softmax_weights,
    with_clusters,
)
from xmach.planning.machine import available_bytes, check_memory, usable_cores
from xmach.planning.memory import (
    TrainingMemory,
    clustering_bytes,
    prediction_bytes,
    training_bytes,
    training_memory,
)
from xmach.planning.plan import Plan
from xmach.planning.proposal import Proposal, Request, propose, suggested_buckets, workers_within
from xmach.planning.ranker_memory import held_out_size
from xmach.planning.ranker_sizes import RankerSize, expected_ranker, negative_step
from xmach.planning.sizes import (
    Shape,
    inverted_index_bytes,
    network_parameters,
    one_vs_all_operations,
    one_vs_all_parameters,
    query_operations,
    signature_bytes,
    stored_bytes,
)
from xmach.planning.theory import (
    collision_probability,
    expected_indistinguishable_pairs,
    expected_rivals,
    indistinguishable_bound,
    repetitions_needed,
    unbiased,
)
from xmach.planning.threads import by_rows
from xmach.planning.units import human_bytes, parse_bytes

__all__ = [
    "COMPARED_ROWS",
    "LOSS_SHARES",
    "TYPICAL_COST",
    "Costs",
    "DataSize",
    "Odds",
    "Plan",
    "Proposal",
    "RankerSize",
    "Request",
    "RowFacts",
    "Shape",
    "TrainingMemory",
    "available_bytes",
    "by_rows",
    "check_memory",
    "clustering_bytes",
    "collision_probability",
    "costs",
    "decide",
    "drawn_pairs",
    "expected_indistinguishable_pairs",
    "expected_ranker",
    "expected_rivals",
    "expected_weights",
    "held_out_size",
    "human_bytes",
    "indistinguishable_bound",
    "inverted_index_bytes",
    "is_close",
    "kept_weights",
    "negative_step",
    "network_parameters",
    "odds",
    "one_vs_all_operations",
    "one_vs_all_parameters",
    "parse_bytes",
    "prediction_bytes",
    "prefers_linear",
    "propose",
    "pruned_one_vs_all",
    "query_operations",
    "repetitions_needed",
    "signature_bytes",
    "softmax_weights",
    "stored_bytes",
    "suggested_buckets",
    "training_bytes",
    "training_memory",
    "unbiased",
    "usable_cores",
    "with_clusters",
    "workers_within",
]
