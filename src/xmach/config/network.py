"""The options of networks."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from xmach.config.group import OptionGroup
from xmach.config.names import AUTO, LOSSES
from xmach.config.option import auto_or, choice_option, option, real_option, whole_option
from xmach.errors import ParameterError
from xmach.parameters import whole

NETWORK_DEFAULTS = {"hidden": (500,), "loss": LOSSES[0], "epochs": 10, "learning_rate": 2e-3}  # what `auto` means


def layer_widths(name: str, value: Any) -> tuple[int, ...]:
    """Hidden layers as a tuple of widths, from any sequence of whole numbers."""
    try:
        widths = None if isinstance(value, str | bytes) else tuple(value)
    except TypeError:
        widths = None
    if widths is None:
        raise ParameterError(f"{name} must be a tuple of layer widths such as (500,) or (), got {value!r}")
    return tuple(whole(f"every width in {name}", width, 1) for width in widths)


@dataclass(frozen=True, repr=False)
class NetworkSettings(OptionGroup):
    """How a network is shaped and trained; `auto` is resolved here, and kept in the subclass `MachConfig`."""

    hidden: Any = option(
        AUTO, "Widths of a network's hidden layers: auto is 500, none logistic regression.", auto_or(layer_widths),
        str, "--hidden", None,
    )  # fmt: skip
    loss: Any = choice_option(
        AUTO, "A network's loss; auto is softmax, for multilabel rows too.", (AUTO, *LOSSES), flag="--loss"
    )
    epochs: Any = whole_option(AUTO, "A network's passes over the training rows; auto is 10.", 1, flag="--epochs")
    batch_size: int = whole_option(
        256, "Rows per training step; smaller if there are few rows, so that an epoch has 100 steps.", 1,
        flag="--batch-size",
    )  # fmt: skip
    learning_rate: Any = real_option(
        AUTO, "Adam's initial learning rate, which decays linearly to zero; auto is 0.002.", 0.0, math.inf,
        with_low=False, flag="--learning-rate",
    )  # fmt: skip
    weight_decay: float = real_option(
        0.0, "Decoupled weight decay.", 0.0, math.inf, with_low=True, flag="--weight-decay"
    )
    dropout: float = real_option(
        0.0, "Fraction of hidden units dropped in each step.", 0.0, 1.0, with_low=True, flag="--dropout"
    )
    patience: int = whole_option(2, "Epochs without a better validation loss before training stops.", 1)
    skip_below: float = real_option(
        0.0, "Round output gradients below this value at random and skip the zeros: faster; try 0.01.", 0.0, 1.0,
        with_low=True, flag="--skip-below",
    )  # fmt: skip

    def __post_init__(self) -> None:
        self._check()
        for name, value in NETWORK_DEFAULTS.items():
            if getattr(self, name) == AUTO:
                object.__setattr__(self, name, value)

    def _check(self) -> None:
        super()._check()
        if self.skip_below and (self.loss == "bce" or not self.hidden):
            raise ParameterError("skip_below needs softmax and a hidden layer; leave it out, or change loss or hidden")

    def to_dict(self) -> dict[str, Any]:
        """The options as JSON values for plan.json. An unused `skip_below` is left out, as in older plans."""
        values = super().to_dict() | {"hidden": list(self.hidden)}
        if not self.skip_below:
            del values["skip_below"]
        return values
