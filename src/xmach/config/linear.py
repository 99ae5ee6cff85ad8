"""The options of sparse linear classifiers."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

from xmach.config.group import OptionGroup
from xmach.config.names import AUTO, BOTH, LINEAR_LOSSES, LOGISTIC, LOGISTIC_COST, SOFTMAX, SQUARED_HINGE, STORE_BITS
from xmach.config.option import auto_or, choice_option, option, real_option
from xmach.errors import ParameterError
from xmach.parameters import real, whole


def _bits(name: str, value: Any) -> int:
    if isinstance(value, bool) or value not in STORE_BITS:
        raise ParameterError(f"{name} must be one of {', '.join(map(str, STORE_BITS))}, got {value!r}")
    return int(value)


@dataclass(frozen=True, repr=False)
class LinearSettings(OptionGroup):
    """How the sparse linear classifiers of the buckets are trained; an `auto` loss is kept in `MachConfig` only."""

    linear_loss: str = choice_option(
        AUTO, "Loss of linear buckets; auto: softmax if most labels have one or two rows; both (squared_hinge and "
        "logistic, in turns) for few features.",
        (AUTO, *LINEAR_LOSSES), flag="--linear-loss",
    )  # fmt: skip
    cost: Any = option(
        AUTO, "C of linear buckets: the weight of a row's loss against the regularisation; auto: by validation.",
        auto_or(lambda name, value: real(name, value, 0.0, math.inf, with_low=False)), str, "--cost", None,
    )  # fmt: skip
    passes: Any = option(
        AUTO, "Passes over the rows for linear buckets; auto: by validation.",
        auto_or(lambda name, value: whole(name, value, 1)), str, "--passes", None,
    )  # fmt: skip
    prune_below: float = real_option(
        0.1, "Weights of linear buckets below this are dropped: a smaller model.", 0.0, math.inf, with_low=True,
        flag="--prune-below",
    )  # fmt: skip
    store_bits: Any = option(
        AUTO, "Bits of a stored weight of linear buckets: 8 or 32; auto is 8.", auto_or(_bits), str, "--store-bits",
        None,
    )  # fmt: skip

    def __post_init__(self) -> None:
        self._check()
        if self.linear_loss == AUTO:
            object.__setattr__(self, "linear_loss", SQUARED_HINGE)

    def _check(self) -> None:
        super()._check()
        if self.linear_loss == SOFTMAX and self.cost != AUTO:
            raise ParameterError("linear_loss='softmax' has no cost; leave cost out, or choose another loss")

    def of_repetition(self, repetition: int) -> LinearSettings:
        """The settings of a repetition: with both losses, two of four have the logistic one.

        Two in a row, because `mixed` buckets take turns, too.
        """
        if self.linear_loss != BOTH:
            return self
        if repetition % 4 < 2:
            return replace(self, linear_loss=SQUARED_HINGE)
        return replace(self, linear_loss=LOGISTIC, cost=LOGISTIC_COST * self.cost)
