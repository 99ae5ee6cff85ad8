"""Models on disk: format 1, written atomically, checked by SHA-256, loaded by memory map, never unpickled."""

from xmach.store.load import load
from xmach.store.model import ModelStore, replacing

__all__ = ["ModelStore", "load", "replacing"]
