"""Every exception of xmach: one base class, each also the builtin that a caller would expect."""

from __future__ import annotations

from pathlib import Path


class XmachError(Exception):
    """The base of every error that xmach raises on purpose."""


class InputError(XmachError, ValueError):
    """Arrays or values that cannot be used; the message names the argument, what was seen and what to do."""


class ParameterError(InputError):
    """A parameter outside its range; the message names the parameter, the value and the range."""


class DataFileError(XmachError, ValueError):
    """A data file that cannot be read as its format says; prints as `FILE:LINE: message`."""

    def __init__(self, file: str | Path, line: int | None, message: str, column: int | None = None) -> None:
        self.file = str(file)
        self.line = line  # 1-based; None if no line is at fault
        self.column = column  # 1-based character in the line; None if unknown
        self.message = message
        super().__init__(self.file, line, message, column)

    def __str__(self) -> str:
        place = self.file if self.line is None else f"{self.file}:{self.line}"
        column = "" if self.column is None else f" (column {self.column})"
        return f"{place}: {self.message}{column}"


class DataFileMissing(DataFileError, FileNotFoundError):
    """A data file that is not there or cannot be opened."""


class ModelError(XmachError, OSError):
    """A model folder that cannot be used; the command exits with 3."""


class ModelMissing(ModelError, FileNotFoundError):
    """There is no model in that folder."""


class ModelIncomplete(ModelError):
    """The folder lacks repetitions: training is not finished, or files were not copied."""


class ModelCorrupt(ModelError):
    """A file of the model is damaged: its checksum, header or content is wrong."""


class ModelFormatUnsupported(ModelError):
    """The folder was written in a format number that this version cannot read."""


class PlanMismatch(ModelError, ValueError):
    """The folder holds a model of another plan: other arguments or other data."""


class NotStorable(XmachError, TypeError):
    """A bucket model that is not plain arrays: it works in memory and cannot be saved."""


class NotEnoughMemory(XmachError, MemoryError):
    """What was asked for needs more memory than there is; the message has both figures and what to change."""


class Diverged(XmachError, ArithmeticError):
    """Training ran off to infinity: the rate is too high, or values are too large."""


class WorkerDied(XmachError, RuntimeError):
    """A worker process ended in the middle of a repetition (killed, or out of memory)."""


class Interrupted(XmachError, RuntimeError):
    """Training was asked to stop and has saved where it was."""
