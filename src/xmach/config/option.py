"""One option, and the fields that hold it: whole numbers, real numbers and choices."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from xmach.config.names import AUTO
from xmach.errors import ParameterError
from xmach.parameters import real, whole

Check: TypeAlias = Callable[[str, Any], Any]  # (name to show in an error, value) -> the value as a plain Python value


@dataclass(frozen=True)
class Option:
    """What there is to know about one option, apart from its name and default."""

    help: str
    check: Check
    type: type = str  # what the command line parses
    choices: tuple[str, ...] = ()
    flag: str | None = None  # its name on the command line; None: Python only
    parameter: str | None = None  # its name in `MACHClassifier`; None: not a parameter


def option(default: Any, help: str, check: Check, type: type, flag: str | None, parameter: str | None) -> Any:
    return field(default=default, metadata={"option": Option(help, check, type, (), flag, parameter)})


def whole_option(
    default: int | str,
    help: str,
    low: int,
    high: int | None = None,
    flag: str | None = None,
    parameter: str | None = None,
) -> Any:
    def check(name: str, value: Any) -> int:
        return whole(name, value, low, high)

    if default == AUTO:
        return option(AUTO, help, auto_or(check), str, flag, parameter)
    return option(default, help, check, int, flag, parameter)


def real_option(default: float | str, help: str, low: float, high: float, *, with_low: bool, flag: str) -> Any:
    def check(name: str, value: Any) -> float:
        return real(name, value, low, high, with_low=with_low)

    if default == AUTO:
        return option(AUTO, help, auto_or(check), str, flag, None)
    return option(default, help, check, float, flag, None)


def choice_option(default: str, help: str, choices: tuple[str, ...], flag: str) -> Any:
    def check(name: str, value: Any) -> str:
        if not isinstance(value, str) or value not in choices:
            raise ParameterError(f"{name} must be one of {', '.join(choices)}, got {value!r}")
        return value

    return field(default=default, metadata={"option": Option(help, check, str, choices, flag)})


def auto_or(check: Check) -> Check:
    """A check that also takes "auto"."""

    def checked(name: str, value: Any) -> Any:
        if isinstance(value, str) and value == AUTO:
            return value
        try:
            return check(name, value)
        except ParameterError as error:
            raise ParameterError(f"{error}, or {AUTO!r}") from None

    return checked
