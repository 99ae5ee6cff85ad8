"""Rankers of small data in several shards."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from xmach.ranking import weighing
from xmach.training import ranker_parts


@contextmanager
def small_shards(rows: int, labels: int = 16) -> Iterator[None]:
    """Let shards have this many rows and labels at least, and leave no part of the ranker out."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ranker_parts, "LEAST_SHARD_LABELS", labels)
        patch.setattr(ranker_parts, "_LEAST_ROWS", rows)
        patch.setattr(weighing, "_LEAST_GAIN", -1.0)
        yield
