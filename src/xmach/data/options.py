"""What a caller may ask of a reader, checked once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from xmach.errors import ParameterError

OnError: TypeAlias = Literal["stop", "skip"]


@dataclass(frozen=True)
class ReadOptions:
    """How to read: what to do about bad rows, and the widths and labels of the model that the rows are for."""

    on_error: OnError = "stop"
    n_features: int | None = None
    n_labels: int | None = None
    label_names: Sequence[str] | None = None

    def __post_init__(self) -> None:
        if self.on_error not in ("stop", "skip"):
            raise ParameterError(f"on_error must be 'stop' or 'skip', got {self.on_error!r}")
        for name, number in (("n_features", self.n_features), ("n_labels", self.n_labels)):
            if number is not None and number < 0:
                raise ParameterError(f"{name} must be at least 0, got {number}")
        if self.label_names is not None and self.n_labels not in (None, len(self.label_names)):
            raise ParameterError(f"n_labels is {self.n_labels} but there are {len(self.label_names)} label_names")

    @property
    def known_labels(self) -> int | None:
        """The number of labels of the model, if it was told."""
        return self.n_labels if self.label_names is None else len(self.label_names)
