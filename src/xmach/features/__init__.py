"""Text to sparse rows, and the scaling of rows."""

from xmach.features.hashed import HashedText
from xmach.features.scaling import Scaler, Scaling, fit_scaler

__all__ = ["HashedText", "Scaler", "Scaling", "fit_scaler"]
