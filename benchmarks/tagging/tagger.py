"""What every contestant can do, and where each one is. A new one is a module with a class and a line in TAGGERS.

Imports the standard library only: contestants run in environments that lack xmach, too.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple, Protocol

Settings = Mapping[str, Any]


class Tagger(Protocol):
    """A contestant: trained and saved in one process, opened and asked in another.

    Matrices are SciPy's, in CSR with float32 values; features are scaled already.
    """

    def __init__(self, settings: Settings, folder: Path) -> None:
        """Take the settings and the folder of the model, which does not exist before it is saved."""

    def warm_up(self) -> None:
        """Do what is done once after an installation, such as compiling; its time and memory do not count."""

    def prepare(self, features: Any, labels: Any) -> None:
        """Turn (n, d) features and (n, K) labels into what training reads."""

    def train(self) -> None:
        """Learn."""

    def save(self) -> None:
        """Write the model."""

    def open(self) -> None:
        """Read the model."""

    def predict(self, features: Any, k: int) -> Any:
        """Return an integer array (n, k or fewer) of labels, best first; -1 if there are no more."""


class Environment(NamedTuple):
    """Packages for a virtual environment of its own."""

    name: str
    requirements: tuple[str, ...]
    alone: tuple[str, ...] = ()  # installed without the packages that they ask for


class Entry(NamedTuple):
    """Where a contestant is, and which library it shows."""

    place: str  # module:class
    library: str  # a distribution
    shared: tuple[str, ...] = ()  # files of `benchmarks` that decide its answers, beside its module
    environment: Environment | None = None  # None: the one that the benchmarks run in


_TREES = ("peers/trees.py",)
# PECOS needs an older NumPy. Without its transformers, which XR-Linear does not use, it is gigabytes smaller.
_PECOS = Environment("pecos", ("numpy<2", "scipy<1.14", "scikit-learn"), ("libpecos==1.2.8",))

TAGGERS = {
    "parabel": Entry("benchmarks.tagging.label_trees:Parabel", "omikuji", _TREES),
    "bonsai": Entry("benchmarks.tagging.label_trees:Bonsai", "omikuji", _TREES),
    "xr-linear": Entry("benchmarks.tagging.xr_linear:XrLinear", "libpecos", environment=_PECOS),
    "mach": Entry("benchmarks.tagging.mach:Mach", "xmach"),
}


def tagger_class(name: str) -> type[Tagger]:
    """Import the class of a contestant, and its library."""
    module, attribute = TAGGERS[name].place.split(":")
    found: type[Tagger] = getattr(import_module(module), attribute)
    return found
