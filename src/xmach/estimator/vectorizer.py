"""`TextVectorizer`: the text features behind scikit-learn's interface of transformers."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from xmach._kernels.train.rows import tfidf_rows
from xmach.errors import ParameterError
from xmach.features import Scaler, featurizer, fit_scaler, learned
from xmach.predictor import text_list, text_rows
from xmach.types import SparseRows

VALUES = ("binary", "counts", "tfidf")


class TextVectorizer(TransformerMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """Texts to a sparse matrix of words, pairs of words and character trigrams, as `MACHClassifier` has them.

    Parameters
    ----------
    features : "text", "paper", HashedText or VocabularyText
        `"text"`: plain hashing. `"paper"`: a vocabulary of the most frequent tokens, learned by `fit`, and hashed slots
        for all others. A VocabularyText that has its vocabulary already keeps it.
    values : "tfidf", "counts" or "binary"
        Sublinear tf-idf, how often, or whether.
    norm : "l2" or None
        Whether rows are divided by their length.

    Attributes
    ----------
    text_ : what makes rows of texts, with its vocabulary
    scaler_ : what `values` and `norm` come to
    """

    def __init__(self, features: Any = "text", values: str = "tfidf", norm: str | None = "l2") -> None:
        self.features = features
        self.values = values
        self.norm = norm

    def fit(self, X: Any, y: Any = None) -> TextVectorizer:
        """Learn the vocabulary, where there is one, and the document frequencies from a list of str."""
        self._fit(X)
        return self

    def fit_transform(self, X: Any, y: Any = None) -> Any:
        """Learn from texts, and give their rows; the texts are hashed once."""
        return self._matrix(self._fit(X))

    def transform(self, X: Any) -> Any:
        """The (n, n_features) CSR matrix of a list of str, float32."""
        check_is_fitted(self, "scaler_")
        return self._matrix(text_rows(X, self.text_))

    def _fit(self, X: Any) -> SparseRows:
        if self.values not in VALUES:
            raise ParameterError(f"values must be one of {', '.join(VALUES)}; got {self.values!r}")
        if self.norm not in ("l2", None):
            raise ParameterError(f"norm must be 'l2' or None; got {self.norm!r}")
        text = featurizer(self.features)
        if self.values == "binary":
            text = replace(text, binary=True)
        elif text.binary:
            raise ParameterError(f"values is {self.values!r}, but features give ones: leave out its binary=True")
        texts = text_list(X)
        self.text_ = learned(text, texts)
        rows = text_rows(texts, self.text_)
        plain = "none" if self.norm is None else "l2"
        self.scaler_: Scaler = fit_scaler(rows, "tfidf" if self.values == "tfidf" else plain)
        return rows

    def _matrix(self, rows: SparseRows) -> Any:
        if self.scaler_.idf is not None and self.norm is None:
            values = np.empty_like(rows.values)
            tfidf_rows(rows.indices, rows.values, self.scaler_.idf, values)
        else:
            scaled = self.scaler_.apply(rows)
            assert isinstance(scaled, SparseRows)
            values = scaled.values
        return sp.csr_matrix((values, rows.indices, rows.indptr), shape=rows.shape)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = tags.input_tags.one_d_array = True
        tags.input_tags.two_d_array = False
        return tags
