"""Parameters checked at the door: an error names the parameter, its range and what was given."""

from __future__ import annotations

from math import nan
from numbers import Real
from operator import index
from typing import Any

from xmach.errors import ParameterError

MOST_REPETITIONS = 100_000  # more is a slip of the finger: the paper's largest is 50


def whole(name: str, value: Any, low: int, high: int | None = None) -> int:
    """The value as a Python int, which cannot overflow."""
    span = f"of at least {low}" if high is None else f"from {low} to {high}"
    try:
        number = index(value)
    except TypeError:
        number = None
    if number is None or isinstance(value, bool) or number < low or (high is not None and number > high):
        raise ParameterError(f"{name} must be a whole number {span}, got {value!r}")
    return number


def real(name: str, value: Any, low: float, high: float, *, with_low: bool) -> float:
    """The value as a float in [low, high), or in (low, high) if not `with_low`."""
    number = float(value) if isinstance(value, Real) and not isinstance(value, bool) else nan
    if not low <= number < high or (number == low and not with_low):  # nan is in no range
        raise ParameterError(f"{name} must be a number in {'[' if with_low else '('}{low}, {high}), got {value!r}")
    return number
