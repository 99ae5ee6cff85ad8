"""The battery that every learner passes. To subscribe: a subclass named Test..., with a `learner` of its own."""

from __future__ import annotations

import pickle
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from tests.checks import tasks
from tests.checks.tasks import Desk, StopAt, rows_of

from xmach.errors import InputError
from xmach.learners import LabelledRows, Learner
from xmach.types import BucketModel, FloatArray, Loss, Rows, SparseRows

# rows that only their group tells apart: 60 with the first feature, 60 with the second
GROUPS = np.repeat(np.eye(2, dtype=np.float32), 60, axis=0)
LABELS = 12
separable = partial(tasks.separable, 120)  # ten rows a label: few, as every check trains anew


def model_of(learner: Learner, rows: LabelledRows, validation: LabelledRows | None = None) -> BucketModel:
    """What the learner makes of the rows."""
    outcome = learner.train(Desk(rows, validation, repetition=rows.repetition).task())
    assert outcome is not None
    return outcome.model


def buckets_of(rows: LabelledRows) -> list[int]:
    """The bucket of every label."""
    found: list[int] = rows.hashes.buckets(np.arange(LABELS), rows.repetition).tolist()
    return found


def hit_rate(model: BucketModel, rows: LabelledRows) -> float:
    """How often the most probable bucket of a row is its own; for one label a row."""
    batch = rows.batch(np.arange(rows.n_rows))
    return float((model.probabilities(batch.rows).argmax(axis=1) == batch.targets.buckets).mean())


def apart(n_buckets: int) -> tuple[int, int, int, int]:
    """Two labels of one bucket, and two of other buckets, among LABELS."""
    buckets = buckets_of(rows_of(GROUPS, [[]] * 120, LABELS, n_buckets))
    a, twin = next((x, y) for x in range(LABELS) for y in range(x) if buckets[x] == buckets[y])
    b = next(x for x in range(LABELS) if buckets[x] != buckets[a])
    c = next(x for x in range(LABELS) if buckets[x] not in (buckets[a], buckets[b]))
    return a, twin, b, c


@pytest.fixture(params=["softmax", "bce"])
def loss(request: pytest.FixtureRequest) -> Loss:
    """Both losses."""
    chosen: Loss = request.param
    return chosen


class LearnerChecks:
    """What holds for every learner, whatever it learns with."""

    takes_weights = True  # otherwise rows of unequal weight are refused
    calibrated = True  # otherwise only the order of its probabilities means something

    def learner(self, loss: Loss) -> Learner:
        raise NotImplementedError

    def answers(self, rows: LabelledRows, loss: Loss, asked: Rows | None = None) -> FloatArray:
        """(n, B) of a fresh model of the rows, for the two groups or what is asked."""
        asked = np.eye(rows.features.shape[1], dtype=np.float32) if asked is None else asked
        return model_of(self.learner(loss), rows).probabilities(asked)

    @pytest.mark.parametrize(("sparse", "n_buckets"), [(True, 2), (True, 6), (False, 6)])
    def test_learns_what_can_be_told_apart(self, loss: Loss, sparse: bool, n_buckets: int) -> None:
        model = model_of(self.learner(loss), separable(sparse=sparse, n_buckets=n_buckets))
        assert hit_rate(model, separable(sparse=sparse, n_buckets=n_buckets, seed=1)) > 0.95

    def test_probabilities_are_probabilities(self, loss: Loss) -> None:
        model = model_of(self.learner(loss), separable())
        assert (model.n_features, model.n_buckets) == (LABELS, 6)
        asked = separable(seed=1, sparse=False).features
        asked[7] = 0.0
        answers = model.probabilities(asked)
        assert answers.shape == (120, 6)
        assert answers.dtype == np.float32
        assert (np.isfinite(answers) & (answers >= 0) & (answers <= 1.0001)).all()
        if loss == "softmax":
            np.testing.assert_allclose(answers.sum(axis=1), 1, rtol=1e-5)

    def test_same_seed_same_answers(self, loss: Loss) -> None:
        first, second = (self.answers(separable(), loss) for _ in range(2))
        assert first.tobytes() == second.tobytes()

    def test_another_repetition_has_other_targets(self, loss: Loss) -> None:
        rows = [replace(separable(), repetition=r) for r in range(2)]
        models = [model_of(self.learner(loss), part) for part in rows]
        assert hit_rate(models[1], rows[1]) > 0.95 > 0.8 > hit_rate(models[0], rows[1])

    def test_weights_count(self, loss: Loss) -> None:
        """In the first group half the rows say a, half say b: the heavier ones win."""
        a, _, b, c = apart(6)
        labels = [[a], [b]] * 30 + [[c]] * 60
        for heavy, light in ((a, b), (b, a)):
            weights = [{heavy: 1.8, light: 0.2, c: 1.0}[ids[0]] for ids in labels]
            rows = rows_of(GROUPS, labels, LABELS, 6, weights)
            if not self.takes_weights:
                with pytest.raises(InputError, match="takes no sample_weight, but rows or labels have unequal weights"):
                    self.answers(rows, loss)
                continue
            answers, buckets = self.answers(rows, loss)[0], buckets_of(rows)
            assert answers[buckets[heavy]] > answers[buckets[light]] + 0.1
            if self.calibrated:
                assert answers[buckets[heavy]] == pytest.approx(0.9, abs=0.1)

    def test_equal_weights_change_nothing(self, loss: Loss) -> None:
        plain = separable()
        weighted = replace(plain, weights=np.ones(plain.n_rows, np.float32))
        assert self.answers(plain, loss).tobytes() == self.answers(weighted, loss).tobytes()

    def test_a_row_with_several_labels(self, loss: Loss) -> None:
        """Two of the first group's labels share a bucket: with softmax it has two thirds, with bce all."""
        a, twin, b, c = apart(6)
        rows = rows_of(GROUPS, [sorted([a, twin, b])] * 60 + [[c]] * 60, LABELS, 6)
        answers, buckets = self.answers(rows, loss)[0], buckets_of(rows)
        assert min(answers[buckets[a]], answers[buckets[b]]) > answers[buckets[c]]
        if loss == "bce":
            assert min(answers[buckets[a]], answers[buckets[b]]) > 0.5
        else:
            assert answers[buckets[a]] > answers[buckets[b]] + 0.1
            if self.calibrated:
                assert answers[buckets[a]] == pytest.approx(2 / 3, abs=0.1)

    def test_rows_without_labels(self, loss: Loss) -> None:
        """Half of the first group has none: softmax learns from the others, bce takes it as half."""
        a, _, _, c = apart(6)
        rows = rows_of(GROUPS, [[a], []] * 30 + [[c]] * 60, LABELS, 6)
        answers, buckets = self.answers(rows, loss)[0], buckets_of(rows)
        assert answers.argmax() == buckets[a]
        if loss == "softmax":
            assert answers[buckets[a]] > 0.7
        else:
            assert answers[buckets[a]] == pytest.approx(0.5, abs=0.15)

    def test_one_bucket_only(self, loss: Loss) -> None:
        rows = rows_of(GROUPS, [[3]] * len(GROUPS), LABELS, 6)
        own = buckets_of(rows)[3]
        answers = self.answers(rows, loss)[0]
        assert answers.argmax() == own
        assert answers[own] > 0.7

    def test_one_row_only(self, loss: Loss) -> None:
        rows = rows_of(GROUPS[:1], [[3]], LABELS, 6)
        assert self.answers(rows, loss)[0].argmax() == buckets_of(rows)[3]

    def test_more_buckets_than_labels(self, loss: Loss) -> None:
        rows = separable(n_buckets=40)
        model = model_of(self.learner(loss), rows)
        answers = model.probabilities(np.eye(LABELS, dtype=np.float32))
        assert answers.shape == (LABELS, 40)
        assert np.delete(answers, buckets_of(rows), axis=1).max() < 0.1
        assert hit_rate(model, separable(n_buckets=40, seed=1)) > 0.95

    def test_dense_and_sparse_rows_agree(self, loss: Loss) -> None:
        sparse, dense = (separable(seed=1, sparse=form).features for form in (True, False))
        trained, other = (model_of(self.learner(loss), separable(sparse=form)) for form in (True, False))
        np.testing.assert_allclose(trained.probabilities(sparse), trained.probabilities(dense), atol=1e-5)
        np.testing.assert_allclose(trained.probabilities(sparse), other.probabilities(sparse), atol=0.1)

    def test_takes_validation_rows(self, loss: Loss) -> None:
        model = model_of(self.learner(loss), separable(), validation=separable(seed=2))
        assert hit_rate(model, separable(seed=1)) > 0.95

    def test_travels_by_pickle(self, loss: Loss) -> None:
        learner = pickle.loads(pickle.dumps(self.learner(loss)))
        model, asked = model_of(learner, separable()), separable(seed=1).features
        assert model.probabilities(asked).tobytes() == self.answers(separable(), loss, asked).tobytes()
        again = pickle.loads(pickle.dumps(model))
        assert again.probabilities(asked).tobytes() == model.probabilities(asked).tobytes()

    def test_stops_when_told_to(self, loss: Loss) -> None:
        assert self.learner(loss).train(Desk(separable()).task(StopAt(1))) is None

    def test_tells_how_far_it_is(self, loss: Loss) -> None:
        monitor = StopAt()
        self.learner(loss).train(Desk(replace(separable(), repetition=2), repetition=2).task(monitor))
        assert {repetition for repetition, _ in monitor.reports} == {2}
        done = [progress.done for _, progress in monitor.reports]
        assert done == sorted(done)
        assert done[-1] == monitor.reports[-1][1].total > 0

    def test_rows_of_another_width_are_refused(self, loss: Loss) -> None:
        model = model_of(self.learner(loss), separable())
        for width in (LABELS - 1, LABELS + 1):
            with pytest.raises(InputError, match=f"trained on 12 features, the rows have {width}"):
                model.probabilities(np.zeros((2, width), np.float32))

    @pytest.mark.parametrize("sparse", [True, False])
    def test_inputs_can_be_read_only(self, loss: Loss, sparse: bool) -> None:
        """As memory-mapped ones are: nothing that is given may be changed."""
        rows = separable(sparse=sparse)
        for part in (rows.features, rows.labels):
            arrays = (part.indptr, part.indices, part.values) if isinstance(part, SparseRows) else (part,)
            for array in arrays:
                array.flags.writeable = False
        model = model_of(self.learner(loss), rows)
        assert np.isfinite(model.probabilities(rows.features)).all()
