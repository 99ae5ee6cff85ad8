"""`MACHClassifier` on texts: which featurizers it takes, and which rows a vocabulary is learned from."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, KFold

from xmach import MACHClassifier
from xmach.errors import InputError, ParameterError
from xmach.features import HashedText, VocabularyText

TEXTS = [f"{['red shoe', 'iron pan', 'green tea'][i % 3]} item{i}" for i in range(30)]
LABELS = [["shoe", "pan", "tea"][i % 3] for i in range(30)]
SMALL = VocabularyText(n_features=400, words=60, bigrams=20, trigrams=100, unknown=30)


def classifier(**settings: object) -> MACHClassifier:
    return MACHClassifier(**{"n_buckets": 3, "n_repetitions": 2, "hidden": (8,), "epochs": 5, **settings})


def vocabulary(clf: MACHClassifier) -> VocabularyText:
    text = clf.predictor_.text
    assert isinstance(text, VocabularyText)
    return text


@pytest.mark.parametrize("features", ["text", "paper", SMALL, HashedText(500, bigrams=False)])
def test_every_featurizer_learns_and_answers(features: object) -> None:
    clf = classifier(features=features, n_repetitions=8, epochs=20).fit(TEXTS, LABELS)
    assert clf.predict(["red shoes", "green tea"]).tolist() == ["shoe", "tea"]
    assert clf.n_features_in_ == clf.predictor_.text.n_features  # type: ignore[union-attr]


def test_a_vocabulary_is_that_of_the_training_texts() -> None:
    assert vocabulary(classifier(features=SMALL).fit(TEXTS, LABELS)) == SMALL.learn(TEXTS)


def test_one_that_is_learned_already_is_kept() -> None:
    ready = SMALL.learn(["other texts than those"])
    assert vocabulary(classifier(features=ready).fit(TEXTS, LABELS)) is ready


def test_rows_of_weight_zero_are_not_learned_from() -> None:
    weights = np.array([0.0 if i < 6 else 1.0 for i in range(30)])
    clf = classifier(features=SMALL).fit(TEXTS, LABELS, sample_weight=weights)
    assert vocabulary(clf) == SMALL.learn(TEXTS[6:])


def test_rows_that_are_held_out_are_not_learned_from() -> None:
    """Each text has a word of its own, so that the vocabulary shows whom it was learned from."""
    wide = VocabularyText(400, words=1000, bigrams=0, trigrams=0)
    weights = np.array([0.0 if i < 6 else 1.0 for i in range(30)])
    clf = classifier(features=wide, validation=0.25).fit(TEXTS, LABELS, sample_weight=weights)
    assert vocabulary(clf).found == (6 + 18, 0, 0)  # the words of three pairs, and a word for each of 24 less 6 rows
    given = classifier(features=wide, validation=(TEXTS[:6], LABELS[:6])).fit(TEXTS, LABELS)
    assert vocabulary(given).found == (6 + 30, 0, 0)


def test_workers_do_not_change_the_answers() -> None:
    one, two = (classifier(features=SMALL, n_jobs=n).fit(TEXTS, LABELS).top_k(TEXTS, 3) for n in (1, 2))
    np.testing.assert_array_equal(one.scores, two.scores)
    assert one.labels.tolist() == two.labels.tolist()


def test_clones_and_grids() -> None:
    assert clone(classifier(features=SMALL)).features == SMALL
    choices = {"features": ["text", SMALL, HashedText(300, binary=True)]}
    grid = GridSearchCV(classifier(n_buckets=2), choices, cv=KFold(2)).fit(TEXTS, LABELS)
    assert len(grid.cv_results_["params"]) == 3


@pytest.mark.parametrize("features", ["words", 3, ["text"], HashedText])
def test_other_features_are_refused(features: object) -> None:
    with pytest.raises(ParameterError, match="features must be one of None, 'text', 'paper', a HashedText or a"):
        classifier(features=features).fit(TEXTS, LABELS)


def test_what_is_no_text_is_named_with_its_row_in_X() -> None:
    weights = np.array([0.0] * 6 + [1.0] * 24)
    with pytest.raises(InputError, match="row 7 is a NoneType"):
        classifier(features=SMALL).fit([*TEXTS[:7], None, *TEXTS[8:]], LABELS, sample_weight=weights)
    with pytest.raises(InputError, match="X must be a list of texts, got one text"):
        classifier(features=SMALL).fit("red shoe", LABELS)
    for wrong, seen in (
        (None, "NoneType"),
        (b"red shoe", "bytes"),
        (7, "int"),
        (np.array(["red"], ndmin=2), "of 2 dim"),
    ):
        with pytest.raises(InputError, match=f"X must be a list of texts, got .*{seen}"):
            classifier(features=SMALL).fit(wrong, LABELS)
