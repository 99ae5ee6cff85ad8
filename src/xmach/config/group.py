"""Options that belong together, as a dataclass."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from types import MappingProxyType
from typing import Any, TypeVar

from xmach.config.option import Option

Settings = TypeVar("Settings", bound="OptionGroup")


@dataclass(frozen=True, repr=False)
class OptionGroup:
    """Options that belong together; a dataclass whose fields carry an `Option` each."""

    def __post_init__(self) -> None:
        self._check()

    def __repr__(self) -> str:
        """The options that are not at their defaults."""
        defaults = type(self)()
        changed = [name for name in options_of(type(self)) if getattr(self, name) != getattr(defaults, name)]
        return f"{type(self).__name__}({', '.join(f'{name}={getattr(self, name)!r}' for name in changed)})"

    def _check(self) -> None:
        """Make every value a plain Python one (a grid search gives NumPy's, a plan is JSON), or say what is wrong."""
        for name, option in options_of(type(self)).items():
            object.__setattr__(self, name, option.check(option.parameter or name, getattr(self, name)))

    def to_dict(self) -> dict[str, Any]:
        """The options as JSON values for plan.json."""
        return {name: getattr(self, name) for name in options_of(type(self))}

    @classmethod
    def from_dict(cls: type[Settings], values: Mapping[str, Any]) -> Settings:
        """The inverse of `to_dict`."""
        return cls(**values)


def options_of(settings: type[OptionGroup]) -> Mapping[str, Option]:
    """The options by name: those of the class itself, then those that it inherits."""
    own = sorted(fields(settings), key=lambda each: each.name not in settings.__annotations__)
    return MappingProxyType({each.name: each.metadata["option"] for each in own})
