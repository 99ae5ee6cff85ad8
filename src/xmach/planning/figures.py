"""The figures of a plan: what its buckets can tell apart, and what it costs beside one-vs-all."""

from __future__ import annotations

from dataclasses import dataclass

from xmach.buckets import UniversalHashes, count_indistinguishable_pairs
from xmach.planning.sizes import (
    FLOAT_BYTES,
    Shape,
    one_vs_all_operations,
    one_vs_all_parameters,
    query_operations,
)
from xmach.planning.theory import (
    expected_indistinguishable_pairs,
    expected_rivals,
    indistinguishable_bound,
    repetitions_needed,
)


@dataclass(frozen=True)
class Odds:
    """What R hashes of K labels into B buckets tell apart."""

    repetitions_needed: int  # Theorem 2
    indistinguishable_bound: float  # the union bound on the probability that any pair shares every bucket
    expected_indistinguishable_pairs: float
    labels_a_bucket: float
    rivals_in_a_bucket: float  # other labels in a label's bucket of one repetition
    rivals_in_any_bucket: float  # other labels that share at least one of its R buckets


@dataclass(frozen=True)
class Costs:
    """What a model takes beside the one with an output for every label."""

    parameters: int
    bytes: int
    one_vs_all_parameters: int
    one_vs_all_bytes: int
    operations: int  # multiply-adds of an answer to a dense row, R B d + K R if linear; of sparse weights, at most
    one_vs_all_operations: int
    sparse_operations: int  # of an answer to a row with as many values as the rows of the data have
    one_vs_all_sparse_operations: int

    @property
    def reduction(self) -> float:
        """How many times smaller the model is."""
        return self.one_vs_all_parameters / self.parameters

    @property
    def operations_reduction(self) -> float:
        """How many times fewer operations an answer to a dense row takes."""
        return self.one_vs_all_operations / self.operations


def odds(n_labels: int, n_buckets: int, n_repetitions: int, delta: float) -> Odds:
    """What K, B and R alone decide."""
    return Odds(
        repetitions_needed=repetitions_needed(n_labels, n_buckets, delta),
        indistinguishable_bound=indistinguishable_bound(n_labels, n_buckets, n_repetitions),
        expected_indistinguishable_pairs=expected_indistinguishable_pairs(n_labels, n_buckets, n_repetitions),
        labels_a_bucket=n_labels / n_buckets,
        rivals_in_a_bucket=expected_rivals(n_labels, n_buckets),
        rivals_in_any_bucket=expected_rivals(n_labels, n_buckets, n_repetitions),
    )


def costs(shape: Shape, nonzeros: float) -> Costs:
    """The size of a model and the work of an answer; `nonzeros` of a sparse row."""
    parameters = shape.n_repetitions * shape.parameters
    rivals = one_vs_all_parameters(shape.n_features, shape.hidden, shape.n_labels)
    values = round(nonzeros)
    return Costs(
        parameters=parameters,
        bytes=shape.model_bytes,
        one_vs_all_parameters=rivals,
        one_vs_all_bytes=FLOAT_BYTES * rivals,
        operations=query_operations(shape),
        one_vs_all_operations=one_vs_all_operations(shape),
        sparse_operations=query_operations(shape, values),
        one_vs_all_sparse_operations=one_vs_all_operations(shape, values),
    )


def drawn_pairs(n_labels: int, n_buckets: int, n_repetitions: int, seed: int) -> int:
    """The indistinguishable pairs of the very hashes that this seed draws; sorts the K x R table."""
    return count_indistinguishable_pairs(UniversalHashes.draw(n_labels, n_buckets, n_repetitions, seed).signatures())
