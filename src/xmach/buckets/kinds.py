"""The ways to make buckets, by name, and which repetitions of each have tables instead of hashes."""

from __future__ import annotations

from xmach.config import BUCKETINGS, RANDOM
from xmach.errors import ParameterError


def check_bucketing(bucketing: str) -> str:
    """A way to make buckets, by its name."""
    if bucketing not in BUCKETINGS:
        raise ParameterError(f"bucketing must be one of {', '.join(BUCKETINGS)}, got {bucketing!r}")
    return bucketing


def clustered_repetitions(bucketing: str, n_repetitions: int) -> range:
    """Which repetitions have clusters: in `mixed` every second, so that half of the first R are of each kind."""
    first = {RANDOM: n_repetitions, "mixed": 1, "clustered": 0}[check_bucketing(bucketing)]
    return range(first, n_repetitions, 1 if bucketing == "clustered" else 2)
