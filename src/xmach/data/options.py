"""The options of readers, validated once."""

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
    """The roles of a table's columns. The columns of a table without a header are named 0, 1, 2, ..."""

    text: tuple[str, ...] = ()  # several are joined by a blank; (): the features are numbers
    labels: str | None = None  # None: the column `labels` or `label`, if there is one
    features: tuple[str, ...] = ()  # numbers; (): if there is no text, every column without another role
    weight: str | None = None
    label_separator: str | None = None  # None: a cell of text is one label
    header: bool = True

    def __post_init__(self) -> None:
        if self.text and self.features:
            raise ParameterError("features are text columns or columns of numbers, not both; name one kind")
        if self.label_separator == "":
            raise ParameterError("label_separator must not be empty; None takes a cell as one label")
        named = [*self.text, *self.features, *[name for name in (self.labels, self.weight) if name is not None]]
        if twice := [name for name, times in Counter(named).items() if times > 1]:
            raise ParameterError(f"the column {twice[0]!r} has two roles")

    def to_dict(self) -> dict[str, Any]:
        """Return the columns as JSON values."""
        return {name: list(value) if isinstance(value, tuple) else value for name, value in asdict(self).items()}

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Columns:
        """Rebuild the columns from `to_dict`."""
        plain: dict[str, Any] = {name: tuple(v) if isinstance(v, list) else v for name, v in values.items()}
        return cls(**plain)


@dataclass(frozen=True)
class ReadOptions:
    """How to read a file: how to handle bad rows, and the width and labels of the model that the rows are for."""

    on_error: OnError = "stop"
    n_features: int | None = None
    n_labels: int | None = None
    label_names: Sequence[str] | None = None
    columns: Columns = field(default_factory=Columns)  # of tables
    text: TextRows | None = None  # the vectorizer of text columns
    label_file: Path | None = None  # for formats with labels in a separate file
    with_labels: bool = True  # False: rows to predict, which need no labels

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
        """The number of labels of the model, if known."""
        return self.n_labels if self.label_names is None else len(self.label_names)
