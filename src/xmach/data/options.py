"""What a caller may ask of a reader, checked once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal, TypeAlias

from xmach.errors import ParameterError
from xmach.types import TextRows

OnError: TypeAlias = Literal["stop", "skip"]


@dataclass(frozen=True)
class Columns:
    """Which columns of a table are what. Where a table has no header, columns are called 0, 1, 2, ..."""

    text: tuple[str, ...] = ()  # several are joined by a blank; () : the rows are numbers
    labels: str | None = None  # None: the column `labels` or `label`, where there is one
    features: tuple[str, ...] = ()  # numbers; (): without text, every column that is nothing else
    weight: str | None = None
    label_separator: str | None = None  # None: a cell of text is one label
    header: bool = True

    def __post_init__(self) -> None:
        if self.text and self.features:
            raise ParameterError("rows are made of text columns or of columns of numbers; name one kind of them")
        if self.label_separator == "":
            raise ParameterError("label_separator must not be empty; None takes a cell as one label")
        named = [*self.text, *self.features, *[name for name in (self.labels, self.weight) if name is not None]]
        if twice := [name for name, times in Counter(named).items() if times > 1]:
            raise ParameterError(f"the column {twice[0]!r} is named for two things")

    def to_dict(self) -> dict[str, Any]:
        """The columns as JSON values."""
        return {name: list(value) if isinstance(value, tuple) else value for name, value in asdict(self).items()}

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Columns:
        """The inverse of `to_dict`."""
        plain: dict[str, Any] = {name: tuple(v) if isinstance(v, list) else v for name, v in values.items()}
        return cls(**plain)


@dataclass(frozen=True)
class ReadOptions:
    """How to read: what to do about bad rows, and the widths and labels of the model that the rows are for."""

    on_error: OnError = "stop"
    n_features: int | None = None
    n_labels: int | None = None
    label_names: Sequence[str] | None = None
    columns: Columns = field(default_factory=Columns)  # of tables
    text: TextRows | None = None  # what makes rows of text
    label_file: Path | None = None  # where a format keeps labels apart from features
    with_labels: bool = True  # False: rows to be answered, which need have none

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
