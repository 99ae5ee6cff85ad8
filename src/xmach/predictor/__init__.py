"""The predictor: what the store loads and a server serves; everything that needs no training."""

from xmach.predictor.inputs import text_list, text_rows
from xmach.predictor.predictor import RANK, Predictor
from xmach.predictor.sketching import Batch

__all__ = ["RANK", "Batch", "Predictor", "text_list", "text_rows"]
