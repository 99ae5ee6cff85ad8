"""Bucket probabilities to labels: the estimators, and the searches for the k best."""

from xmach.decoding.candidates import Candidates
from xmach.decoding.decoder import Decoder, decode
from xmach.decoding.estimators import ESTIMATORS

__all__ = ["ESTIMATORS", "Candidates", "Decoder", "decode"]
