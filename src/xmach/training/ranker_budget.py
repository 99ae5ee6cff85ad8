"""`ranker_bytes`: the bytes that the parts of the second stage may take."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from xmach.config import NONE, PROFILE
from xmach.errors import InputError, NotEnoughMemory, ParameterError
from xmach.planning import Plan
from xmach.ranking.label_joining import least_bytes as classifier_bytes
from xmach.ranking.profiles import least_bytes as profile_bytes

_BUDGETED = 2  # parts that share the bytes: profiles and classifiers
_ENTRY_BYTES = 3  # of a profile, at most: a wide gap and a code


def check_ranker_bytes(plan: Plan) -> None:
    """Raise ParameterError if the ranker's files cannot be as small as `ranker_bytes`: before training, not after."""
    if plan.ranker == NONE or plan.ranker_bytes is None:
        return
    n_features, n_labels = plan.n_features, plan.hashes.n_labels
    least = profile_bytes(n_features, n_labels) + _ENTRY_BYTES * n_labels  # each profile keeps its largest entry
    if plan.ranker != PROFILE:
        least = max(least, classifier_bytes(n_labels))
    if plan.ranker_bytes // _BUDGETED < least:
        sizes = f"{n_labels:,} labels and {n_features:,} features"
        raise ParameterError(
            f"ranker_bytes={plan.ranker_bytes} is too little for {sizes}: give at least {_BUDGETED * least}, or train "
            "without a ranker"
        )


def part_bytes(plan: Plan) -> int | None:
    """The bytes that a part may take."""
    return None if plan.ranker_bytes is None else plan.ranker_bytes // _BUDGETED


@contextmanager
def explained_budget(plan: Plan) -> Iterator[None]:
    """Let the error of a part that does not fit name the option."""
    try:
        yield
    except (InputError, NotEnoughMemory) as error:
        if plan.ranker_bytes is None:
            raise
        raise ParameterError(f"ranker_bytes={plan.ranker_bytes} is too little: {error}") from None
