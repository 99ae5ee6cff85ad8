"""`TextVectorizer`: scikit-learn's checks that make sense for text, pipelines, values and norms."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.utils import estimator_checks as checks

from xmach import MACHClassifier, TextVectorizer
from xmach.errors import InputError, ParameterError
from xmach.features import HashedText, VocabularyText

TEXTS = ["red red shoe", "blue shoe", "", "red sock größe 漢字"]
SMALL = VocabularyText(n_features=500, words=5, bigrams=4, trigrams=9, unknown=50)


@pytest.mark.parametrize(
    "check",
    [
        checks.check_estimator_cloneable,
        checks.check_estimator_repr,
        checks.check_estimator_tags_renamed,
        checks.check_valid_tag_types,
        checks.check_no_attributes_set_in_init,
        checks.check_parameters_default_constructible,
        checks.check_get_params_invariance,
        checks.check_set_params,
        checks.check_mixin_order,
    ],
    ids=lambda check: check.__name__,
)
@pytest.mark.parametrize("features", ["text", SMALL], ids=["plain", "vocabulary"])
def test_scikit_learns_checks(check: Any, features: Any) -> None:
    check("TextVectorizer", TextVectorizer(features))


def test_counts_are_the_featurizers() -> None:
    for features, text in (("text", HashedText()), (SMALL, SMALL.learn(TEXTS))):
        found, rows = TextVectorizer(features, values="counts", norm=None).fit_transform(TEXTS), text.transform(TEXTS)
        assert sp.issparse(found)
        assert found.dtype == np.float32
        assert found.shape == (4, rows.n_columns)
        np.testing.assert_array_equal(found.indices, rows.indices)
        np.testing.assert_array_equal(found.data, rows.values)


def test_ones_and_unit_length() -> None:
    ones = TextVectorizer(SMALL, values="binary", norm=None).fit_transform(TEXTS)
    assert set(ones.data) == {1.0}
    unit = TextVectorizer(SMALL, values="binary").fit_transform(TEXTS)
    np.testing.assert_allclose(sp.linalg.norm(unit, axis=1), [1, 1, 0, 1], rtol=1e-6)
    np.testing.assert_array_equal(unit.indices, ones.indices)


@pytest.mark.parametrize("norm", ["l2", None])
def test_tfidf_is_scikit_learns(norm: str | None) -> None:
    counts = TextVectorizer(SMALL, values="counts", norm=None).fit_transform(TEXTS)
    theirs = TfidfTransformer(norm=norm, sublinear_tf=True).fit_transform(counts)
    ours = TextVectorizer(SMALL, values="tfidf", norm=norm).fit_transform(TEXTS)
    np.testing.assert_allclose(ours.toarray(), theirs.toarray(), rtol=1e-5)


def test_fit_then_transform_is_fit_transform() -> None:
    for values in ("tfidf", "counts", "binary"):
        vectorizer = TextVectorizer(SMALL, values=values)
        both = vectorizer.fit_transform(TEXTS)
        apart = clone(vectorizer).fit(TEXTS).transform(TEXTS)
        np.testing.assert_array_equal(both.toarray(), apart.toarray())
        np.testing.assert_array_equal(pickle.loads(pickle.dumps(vectorizer)).transform(TEXTS).toarray(), both.toarray())


def test_the_vocabulary_is_that_of_fit_and_the_parameter_stays_as_it_was() -> None:
    vectorizer = TextVectorizer(SMALL).fit(TEXTS)
    vectorizer.transform(["other texts"])
    assert vectorizer.text_ == SMALL.learn(TEXTS)
    assert vectorizer.features is SMALL
    assert not SMALL.is_learned


def test_in_pipelines() -> None:
    texts, labels = [f"{['red', 'blue'][i % 2]} item {i}" for i in range(20)], ["r", "b"] * 10
    pipeline = make_pipeline(TextVectorizer(SMALL), LogisticRegression()).fit(texts, labels)
    assert pipeline.set_params(textvectorizer__values="counts").fit(texts, labels).predict(["red"]).tolist() == ["r"]
    mach = MACHClassifier(2, 2, hidden=(8,), epochs=5, scaling="none")
    assert make_pipeline(TextVectorizer("paper"), mach).fit(texts, labels).predict(["blue"]).tolist() == ["b"]


def test_what_is_wrong_is_said() -> None:
    with pytest.raises(NotFittedError, match="not fitted yet"):
        TextVectorizer().transform(TEXTS)
    with pytest.raises(ParameterError, match="values must be one of binary, counts, tfidf; got 'ones'"):
        TextVectorizer(values="ones").fit(TEXTS)
    with pytest.raises(ParameterError, match="norm must be 'l2' or None; got 'l1'"):
        TextVectorizer(norm="l1").fit(TEXTS)
    with pytest.raises(ParameterError, match="features must be one of 'text', 'paper'"):
        TextVectorizer(features=None).fit(TEXTS)
    with pytest.raises(InputError, match="X must be a list of texts, got one text"):
        TextVectorizer().fit("red shoe")
    with pytest.raises(InputError, match="row 1 is a float"):
        TextVectorizer(SMALL).fit(["red", 1.5])
    with pytest.raises(InputError, match="Found array with 0 sample"):
        TextVectorizer().fit([])


@pytest.mark.parametrize("values", ["counts", "tfidf"])
def test_ones_cannot_be_counted(values: str) -> None:
    with pytest.raises(ParameterError, match="but features give ones"):
        TextVectorizer(HashedText(500, binary=True), values=values).fit(TEXTS)
