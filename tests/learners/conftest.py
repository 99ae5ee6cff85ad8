"""Rows with labels to learn from, and a task that can be stopped at any step."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from tests.checks.tasks import Desk, StopAt, labelled, separable
from threadpoolctl import threadpool_limits

from xmach.learners import LabelledRows

pytest.register_assert_rewrite("tests.checks.learners")


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    """As `train_repetition` has it."""
    with threadpool_limits(1):
        yield


@pytest.fixture
def make_labelled() -> Callable[..., LabelledRows]:
    return labelled


@pytest.fixture
def make_separable() -> Callable[..., LabelledRows]:
    return separable


@pytest.fixture
def make_desk() -> type[Desk]:
    return Desk


@pytest.fixture
def make_monitor() -> type[StopAt]:
    return StopAt
