"""Models on disk: written atomically, checked by SHA-256, loaded by memory map, never unpickled."""

from xmach.store.index import build_index, index_bytes, open_index, remove_index
from xmach.store.load import load
from xmach.store.model import ModelStore, replacing

__all__ = ["ModelStore", "build_index", "index_bytes", "load", "open_index", "remove_index", "replacing"]
