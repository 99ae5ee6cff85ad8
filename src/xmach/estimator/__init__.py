"""`MACHClassifier` and `TextVectorizer`, the scikit-learn estimators."""

from xmach.estimator.classifier import MACHClassifier
from xmach.estimator.vectorizer import TextVectorizer

__all__ = ["MACHClassifier", "TextVectorizer"]
