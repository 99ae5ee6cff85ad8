"""Bucket probabilities to labels: the estimators, and the searches for the k best."""

from xmach.config import ESTIMATORS
from xmach.decoding.candidates import Candidates
from xmach.decoding.decoder import Decoder, decode
from xmach.decoding.explanation import Explanation

__all__ = ["ESTIMATORS", "Candidates", "Decoder", "Explanation", "decode"]
