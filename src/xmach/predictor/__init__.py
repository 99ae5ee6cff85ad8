"""The predictor: what the store loads and a server serves; everything that needs no training."""

from xmach.predictor.predictor import RANK, Predictor, text_list, text_rows
from xmach.predictor.second_stage import Batch

__all__ = ["RANK", "Batch", "Predictor", "text_list", "text_rows"]
