"""What a network learner can be told, validated in one place."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any, get_args

from xmach.errors import ParameterError
from xmach.parameters import real, whole
from xmach.types import Loss


@dataclass(frozen=True)
class NetworkSettings:
    """The shape of a network and how it is trained."""

    hidden: tuple[int, ...] = (500,)
    loss: Loss = "softmax"
    epochs: int = 10
    batch_size: int = 256
    learning_rate: float = 2e-3
    weight_decay: float = 0.0
    dropout: float = 0.0
    patience: int = 2  # epochs without a better validation loss before training stops
    skip_below: float = 0.0  # output gradients under it are rounded to 0 or to it, right on average; 0: none are

    def __post_init__(self) -> None:
        if not isinstance(self.hidden, tuple):
            raise ParameterError(f"hidden must be a tuple of layer widths such as (500,) or (), got {self.hidden!r}")
        plain: dict[str, Any] = {"hidden": tuple(whole("every width in hidden", width, 1) for width in self.hidden)}
        if self.loss not in get_args(Loss):
            raise ParameterError(f"loss must be one of {', '.join(get_args(Loss))} (or auto), got {self.loss!r}")
        for name in ("epochs", "batch_size", "patience"):
            plain[name] = whole(name, getattr(self, name), 1)
        plain["learning_rate"] = real("learning_rate", self.learning_rate, 0.0, math.inf, with_low=False)
        plain["weight_decay"] = real("weight_decay", self.weight_decay, 0.0, math.inf, with_low=True)
        plain["dropout"] = real("dropout", self.dropout, 0.0, 1.0, with_low=True)
        plain["skip_below"] = real("skip_below", self.skip_below, 0.0, 1.0, with_low=True)
        if plain["skip_below"] and (self.loss != "softmax" or not self.hidden):
            raise ParameterError("skip_below needs softmax and a hidden layer; leave it out, or change loss or hidden")
        for name, value in plain.items():  # NumPy's numbers, from a grid search, become Python's: a plan is JSON
            object.__setattr__(self, name, value)

    def to_dict(self) -> dict[str, Any]:
        """The settings as plain values, for a plan; what plans did not have from the start is left out when unused."""
        values = asdict(self) | {"hidden": list(self.hidden)}
        if not self.skip_below:
            del values["skip_below"]
        return values

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> NetworkSettings:
        """The inverse of `to_dict`."""
        return cls(**(values | {"hidden": tuple(values["hidden"])}))
