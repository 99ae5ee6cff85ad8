"""`MACHClassifier`, the scikit-learn estimator."""

from xmach.estimator.classifier import MACHClassifier

__all__ = ["MACHClassifier"]
