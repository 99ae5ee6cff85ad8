"""What every contestant can do, and where each one is. A new one is a module with a class and a line in PEERS."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module, metadata
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from benchmarks.peers.search_data import Training
from xmach.types import FloatArray, IntArray, SparseRows
from xmach.version import __version__

Settings = Mapping[str, Any]


class Peer(Protocol):
    """A contestant: trained and saved in one process, opened and asked in another.

    Made with the settings of its training and the folder that its model goes to, which exists.
    """

    def __init__(self, settings: Settings, folder: Path) -> None: ...

    def warm_up(self) -> None:
        """Do what is done once after an installation, such as compiling; its time and memory do not count."""

    def prepare(self, data: Training) -> None:
        """Turn texts and purchases into what training reads."""

    def train(self) -> None:
        """Learn."""

    def save(self) -> dict[str, Any]:
        """Write the model; says its `parameters` (None: it has none to count), and whatever else is worth keeping."""

    def open(self, answering: Settings) -> None:
        """Read the model, to answer with these settings."""

    def top(self, texts: Sequence[str], k: int) -> IntArray:
        """The (n, k) best products of each query, best first; -1 where there are no more."""

    def scores(self, texts: Sequence[str], candidates: SparseRows) -> FloatArray:
        """The scores of the given products of each query, one a stored value of (n, K) rows; larger is better."""


class Entry(NamedTuple):
    """Where a contestant is, and whose work it shows."""

    place: str  # module:class
    library: str  # the distribution that its version is of; xmach's own is there in any case


PEERS = {
    "mach": Entry("benchmarks.peers.mach:Mach", "xmach"),
    "parabel": Entry("benchmarks.peers.parabel:Parabel", "omikuji"),
    "dssm": Entry("benchmarks.peers.dssm:Dssm", "torch"),
    "bm25": Entry("benchmarks.peers.bm25:Bm25", "bm25s"),
    "popular": Entry("benchmarks.peers.popular:Popular", "numpy"),
}


def peer_class(name: str) -> type[Peer]:
    """The class of a contestant; imports its library."""
    module, attribute = PEERS[name].place.split(":")
    found: type[Peer] = getattr(import_module(module), attribute)
    return found


def library_version(name: str) -> str | None:
    """The version of a contestant's library, or None where it is not installed."""
    library = PEERS[name].library
    try:
        return __version__ if library == "xmach" else metadata.version(library)
    except metadata.PackageNotFoundError:
        return None
