"""Every learner passes the battery in tests/checks/learners.py."""

from __future__ import annotations

import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import MultinomialNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler
from sklearn.svm import LinearSVC
from tests.checks.learners import LearnerChecks, loss

from xmach.learners import (
    Learner,
    LinearLearner,
    LinearSettings,
    NetworkLearner,
    NetworkSettings,
    SklearnLearner,
    SoftmaxLearner,
)
from xmach.types import Loss

__all__ = ["loss"]  # the battery's fixture


class TestNetwork(LearnerChecks):
    def learner(self, loss: Loss) -> Learner:
        return NetworkLearner(NetworkSettings(hidden=(16,), loss=loss, epochs=8, batch_size=16, learning_rate=0.03))


class TestLinear(LearnerChecks):
    calibrated = False  # the squared hinge only ranks buckets

    @pytest.fixture
    def loss(self) -> Loss:
        """One against the rest: a bucket's probability does not depend on the others'."""
        return "bce"

    def learner(self, loss: Loss) -> Learner:
        return LinearLearner(LinearSettings(cost=1.0, passes=200, prune_below=0.0))


class TestLinearLogistic(TestLinear):
    calibrated = True

    def learner(self, loss: Loss) -> Learner:
        return LinearLearner(LinearSettings(linear_loss="logistic", cost=10.0, passes=200, prune_below=0.0))


class TestLinearBoth(TestLinear):
    def learner(self, loss: Loss) -> Learner:
        return LinearLearner(LinearSettings(linear_loss="both", cost=1.0, passes=200, prune_below=0.0))


class TestLinearSoftmax(LearnerChecks):
    @pytest.fixture
    def loss(self) -> Loss:
        return "softmax"

    def learner(self, loss: Loss) -> Learner:
        return SoftmaxLearner(LinearSettings(linear_loss="softmax", passes=30, prune_below=0.0, store_bits=32))


class TestLogisticRegression(LearnerChecks):
    def learner(self, loss: Loss) -> Learner:
        return SklearnLearner(LogisticRegression(C=100), loss)


class TestRandomForest(LearnerChecks):
    def learner(self, loss: Loss) -> Learner:
        return SklearnLearner(RandomForestClassifier(10, max_features=None), loss)


class TestNaiveBayes(LearnerChecks):
    def learner(self, loss: Loss) -> Learner:
        return SklearnLearner(MultinomialNB(alpha=0.01), loss)


class TestLinearSVC(LearnerChecks):
    calibrated = False  # no predict_proba: the softmax of its scores

    def learner(self, loss: Loss) -> Learner:
        return SklearnLearner(LinearSVC(), loss)


class TestNeighbours(LearnerChecks):
    takes_weights = False

    def learner(self, loss: Loss) -> Learner:
        return SklearnLearner(KNeighborsClassifier(6), loss)


class TestPipeline(LearnerChecks):
    def learner(self, loss: Loss) -> Learner:
        return SklearnLearner(make_pipeline(MaxAbsScaler(), MultinomialNB(alpha=0.01)), loss)
