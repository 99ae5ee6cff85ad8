"""Bucket models: plain arrays and a forward pass. No training framework is imported here."""

from xmach.models.linear import LinearModel
from xmach.models.network import NetworkModel

__all__ = ["LinearModel", "NetworkModel"]
