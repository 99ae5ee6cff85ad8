"""`MACHClassifier` as scikit-learn users hold it."""

from __future__ import annotations

import json
import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.datasets import make_blobs
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks
from tests.conftest import made_up
from typer.testing import CliRunner

from xmach import MACHClassifier, load
from xmach.cli.app import app
from xmach.errors import InputError, NotEnoughMemory, ParameterError, PlanMismatch

SMALL = {"n_buckets": 8, "n_repetitions": 4, "hidden": (16,), "epochs": 8, "learning_rate": 1e-2}

# What cannot hold: a row of weight 2 stands in one batch, two equal rows stand in two places of the shuffled order, so
# the steps differ; the limit of training is the same, its bits are not. (Rows of weight 0 are left out exactly.)
REASON = "shuffled batches: a weighted row and repeated rows take different steps"
EXPECTED_FAILURES = {
    "check_sample_weight_equivalence_on_dense_data": REASON,
    "check_sample_weight_equivalence_on_sparse_data": REASON,
}


@parametrize_with_checks(
    [MACHClassifier(n_buckets=2, n_repetitions=8, hidden=(16,), epochs=10, learning_rate=2e-2)],
    expected_failed_checks=lambda _: EXPECTED_FAILURES,
)
@pytest.mark.filterwarnings("ignore:n_buckets=2 is more than:UserWarning")  # a check with one class only
@pytest.mark.filterwarnings("ignore:Can't check dok sparse matrix:UserWarning")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
def test_scikit_learn_checks(estimator: MACHClassifier, check) -> None:  # type: ignore[no-untyped-def]
    check(estimator)


@pytest.fixture(scope="module")
def blobs() -> tuple[np.ndarray, np.ndarray]:
    X, y = make_blobs(400, n_features=6, centers=20, cluster_std=0.6, random_state=0)
    return X.astype(np.float32), y


@pytest.fixture(scope="module")
def fitted(blobs: tuple[np.ndarray, np.ndarray]) -> MACHClassifier:
    return MACHClassifier(**SMALL).fit(*blobs)


def multilabel() -> tuple[sp.csr_matrix, sp.csr_matrix]:
    data = made_up(300, 60, 30)
    X, Y = (
        sp.csr_matrix((rows.values, rows.indices, rows.indptr), shape=rows.shape)
        for rows in (data.features, data.labels)
    )
    return X, Y


class TestMulticlass:
    def test_learns(self, fitted: MACHClassifier, blobs: tuple[np.ndarray, np.ndarray]) -> None:
        assert fitted.score(*blobs) > 0.95
        assert (fitted.predict(blobs[0]) == blobs[1]).mean() == fitted.score(*blobs)

    def test_top_k(self, fitted: MACHClassifier, blobs: tuple[np.ndarray, np.ndarray]) -> None:
        best = fitted.top_k(blobs[0], 3)
        assert best.labels.shape == best.scores.shape == best.ids.shape == (400, 3)
        assert (np.diff(best.scores, axis=1) <= 0).all()
        assert fitted.top_k(blobs[0], 10**6).ids.shape == (400, 20)

    def test_top_k_among_candidates(self, fitted: MACHClassifier, blobs: tuple[np.ndarray, np.ndarray]) -> None:
        full, each = fitted.top_k(blobs[0], 20), [[i % 20, (7 * i + 3) % 20] for i in range(400)]
        for candidates, of_row in (([2, 19, 5], [[2, 19, 5]] * 400), (each, each)):
            best = fitted.top_k(blobs[0], 2, candidates=candidates)
            for i, wanted in enumerate(of_row):
                kept = np.isin(full.ids[i], wanted)
                assert best.ids[i].tolist() == full.ids[i][kept][:2].tolist()
                assert best.scores[i].tolist() == full.scores[i][kept][:2].tolist()
                assert best.labels[i].tolist() == full.labels[i][kept][:2].tolist()

    def test_probabilities(self, fitted: MACHClassifier, blobs: tuple[np.ndarray, np.ndarray]) -> None:
        sketch = fitted.bucket_probabilities(blobs[0])
        assert sketch.shape == (400, 4, 8)
        np.testing.assert_allclose(sketch.sum(axis=2), 1, rtol=1e-5)
        proba = fitted.predict_proba(blobs[0])
        np.testing.assert_allclose(proba.sum(axis=1), 1)
        assert (fitted.classes_[proba.argmax(axis=1)] == fitted.predict(blobs[0])).all()

    @pytest.mark.parametrize("estimator", ["mean", "min", "median", "log"])
    def test_every_estimator(self, blobs: tuple[np.ndarray, np.ndarray], estimator: str) -> None:
        clf = MACHClassifier(**SMALL, estimator=estimator).fit(*blobs)
        assert clf.score(*blobs) > 0.8
        assert (clf.predict_proba(blobs[0]).argmax(axis=1) == clf.predict(blobs[0])).all()

    def test_string_classes(self, blobs: tuple[np.ndarray, np.ndarray]) -> None:
        names = np.array([f"class {i}" for i in blobs[1]])
        clf = MACHClassifier(**SMALL).fit(blobs[0], names)
        assert (clf.predict(blobs[0]) == names).mean() > 0.95

    def test_sparse_and_dense_agree(self, blobs: tuple[np.ndarray, np.ndarray]) -> None:
        X = np.abs(blobs[0]).astype(np.float32)
        dense, sparse = (MACHClassifier(**SMALL, scaling="l2").fit(form, blobs[1]) for form in (X, sp.csr_matrix(X)))
        np.testing.assert_allclose(dense.bucket_probabilities(X), sparse.bucket_probabilities(X), atol=0.02)
        np.testing.assert_allclose(
            sparse.bucket_probabilities(X), sparse.bucket_probabilities(sp.csc_matrix(X)), atol=1e-5
        )

    def test_one_class(self) -> None:
        with pytest.warns(UserWarning, match="n_buckets=8 is more than the 1 labels"):
            clf = MACHClassifier(**SMALL).fit(np.eye(3), ["a"] * 3)
        assert clf.predict(np.eye(3)).tolist() == ["a"] * 3

    def test_same_model_whatever_n_jobs_is(self, fitted: MACHClassifier, blobs: tuple[np.ndarray, np.ndarray]) -> None:
        parallel = MACHClassifier(**SMALL, n_jobs=2).fit(*blobs)
        for one, other in zip(fitted.predictor_.models, parallel.predictor_.models, strict=True):
            assert all(np.array_equal(array, other.arrays()[name]) for name, array in one.arrays().items())

    def test_another_seed_gives_another_model(
        self, fitted: MACHClassifier, blobs: tuple[np.ndarray, np.ndarray]
    ) -> None:
        other = MACHClassifier(**SMALL, random_state=1).fit(*blobs)
        assert other.predictor_.hashes != fitted.predictor_.hashes


class TestMultilabel:
    def test_the_three_forms_of_y_give_one_model(self) -> None:
        X, Y = multilabel()
        lists = [Y[i].indices.tolist() for i in range(Y.shape[0])]
        models = [MACHClassifier(**SMALL).fit(X, y) for y in (Y, Y.toarray(), lists)]
        expected = models[0].top_k(X, 5)
        for model in models[1:]:
            assert np.array_equal(model.top_k(X, 5).ids, expected.ids)
        assert models[0].score(X, Y) == models[1].score(X, Y.toarray()) == models[2].score(X, lists) > 0.5

    def test_predict_gives_the_form_of_y_back(self) -> None:
        X, Y = multilabel()
        sparse, dense = (MACHClassifier(**SMALL).fit(X, y).predict(X) for y in (Y, Y.toarray()))
        assert sp.issparse(sparse)
        assert isinstance(dense, np.ndarray)
        assert np.array_equal(sparse.toarray(), dense)
        assert (sparse.sum(axis=1) == 2).all()  # the mean number of labels of a row

    def test_validation_rows_give_a_threshold(self) -> None:
        X, Y = multilabel()
        clf = MACHClassifier(**SMALL, validation=0.25).fit(X, Y)
        assert clf.predictor_.threshold is not None
        assert all("validation_loss" in entry for history in clf.history_ for entry in history)
        given = MACHClassifier(**SMALL, validation=(X, Y)).fit(X, Y)
        f1 = 2 * given.predict(X).multiply(Y).sum() / (given.predict(X).sum() + Y.sum())
        assert f1 > 0.4

    @pytest.mark.parametrize("loss", ["softmax", "bce"])
    def test_both_losses(self, loss: str) -> None:
        X, Y = multilabel()
        assert MACHClassifier(**SMALL, loss=loss).fit(X, Y).score(X, Y) > 0.4

    def test_string_labels_and_rows_without_labels(self) -> None:
        X, Y = multilabel()
        lists = [[f"tag {i}" for i in Y[row].indices] for row in range(Y.shape[0])]
        lists[3] = []
        clf = MACHClassifier(**SMALL).fit(X, lists)
        assert clf.top_k(X, 1).labels[0, 0].startswith("tag ")
        assert clf.score(X, lists) > 0.4

    def test_labels_never_trained_on_come_last(self) -> None:
        X, Y = multilabel()
        wider = sp.hstack([sp.csr_matrix((Y.shape[0], 5)), Y]).tocsr()
        clf = MACHClassifier(**SMALL).fit(X, wider)
        assert (clf.top_k(X, 30).ids >= 5).all()
        assert set(clf.top_k(X, 35).ids[0, 30:]) == set(range(5))
        assert (clf.predict_proba(X)[:, :5] == 0).all()
        assert (clf.top_k(X, 35, include_unseen=True).ids[:, :30] < 5).any()


class TestText:
    TEXTS = ("red running shoes", "blue rain jacket", "steel water bottle", "wool winter hat")

    def test_texts_go_in_as_they_are(self, tmp_path: Path) -> None:
        texts, classes = list(self.TEXTS) * 10, ["shoes", "jacket", "bottle", "hat"] * 10
        settings = SMALL | {"n_buckets": 3}
        clf = MACHClassifier(**settings, features="text").fit(texts, classes)
        assert clf.predict(["a red shoe", "rain jackets", "bottle of steel", "hat"]).tolist() == classes[:4]
        clf.save(tmp_path / "model")
        assert load(tmp_path / "model").top_k(["winter hats"], 1).labels.tolist() == [["hat"]]

    def test_one_text_is_refused(self) -> None:
        with pytest.raises(InputError, match="list of texts"):
            MACHClassifier(**SMALL, features="text").fit("one text", ["a"])

    def test_a_frame_is_refused(self) -> None:
        clf = MACHClassifier(**SMALL | {"n_buckets": 3}, features="text").fit(list(self.TEXTS), list("abcd"))
        with pytest.raises(InputError, match="choose one column"):
            clf.predict(pd.DataFrame({"text": self.TEXTS}))
        assert len(clf.predict(pd.Series(self.TEXTS))) == 4

    def test_text_without_the_option_says_so(self) -> None:
        with pytest.raises(ValueError, match="features='text'"):
            MACHClassifier(**SMALL).fit(list(self.TEXTS), list("abcd"))

    def test_arrow_texts(self, tmp_path: Path) -> None:
        clf = MACHClassifier(**SMALL | {"n_buckets": 3}, features="text").fit(pa.array(self.TEXTS), list("abcd"))
        clf.save(tmp_path / "model")
        for model in (clf, load(tmp_path / "model")):
            for given in (pa.array(self.TEXTS), pa.chunked_array([self.TEXTS[:1], self.TEXTS[1:]])):
                assert np.array_equal(model.top_k(given, 4).scores, clf.top_k(list(self.TEXTS), 4).scores)
        with pytest.raises(InputError, match="X is a list of texts: give MACHClassifier features='text'"):
            MACHClassifier(**SMALL).fit(pa.array(self.TEXTS), list("abcd"))


class TestScikitLearn:
    def test_pipeline_grid_search_and_cross_validation(
        self, blobs: tuple[np.ndarray, np.ndarray], tmp_path: Path
    ) -> None:
        texts = [f"word{label} other{label % 3}" for label in blobs[1]]
        pipeline = make_pipeline(TfidfVectorizer(), MACHClassifier(**SMALL | {"epochs": 3}))
        assert cross_val_score(pipeline, texts, blobs[1], cv=2).mean() > 0.9
        search = GridSearchCV(MACHClassifier(**SMALL), {"epochs": np.array([1, 6])}, cv=2).fit(*blobs)
        assert search.best_params_ == {"epochs": 6}
        search.best_estimator_.save(tmp_path / "model")  # NumPy's numbers in the parameters
        X, Y = multilabel()
        lists = [Y[i].indices.tolist() for i in range(Y.shape[0])]
        assert cross_val_score(MACHClassifier(**SMALL), X, lists, cv=KFold(2)).mean() > 0.3

    def test_data_frames(self, blobs: tuple[np.ndarray, np.ndarray]) -> None:
        frame = pd.DataFrame(blobs[0], columns=list("abcdef"))
        clf = MACHClassifier(**SMALL).fit(frame, pd.Series(blobs[1]))
        assert clf.feature_names_in_.tolist() == list("abcdef")
        assert clf.score(frame, blobs[1]) > 0.9

    def test_clone_and_pickle(self, fitted: MACHClassifier, blobs: tuple[np.ndarray, np.ndarray]) -> None:
        assert clone(fitted).get_params() == fitted.get_params()
        again = pickle.loads(pickle.dumps(fitted))
        assert np.array_equal(again.top_k(blobs[0], 5).ids, fitted.top_k(blobs[0], 5).ids)


class TestSaving:
    def test_round_trip(self, fitted: MACHClassifier, blobs: tuple[np.ndarray, np.ndarray], tmp_path: Path) -> None:
        fitted.save(tmp_path / "model")
        loaded = load(tmp_path / "model")
        ours, theirs = fitted.top_k(blobs[0], 5), loaded.top_k(blobs[0], 5)
        assert np.array_equal(ours.ids, theirs.ids)
        assert np.array_equal(ours.scores, theirs.scores)
        assert np.array_equal(ours.labels, theirs.labels)

    def test_a_table_with_the_columns_of_the_frame_is_answered(
        self, blobs: tuple[np.ndarray, np.ndarray], tmp_path: Path
    ) -> None:
        frame = pd.DataFrame(blobs[0], columns=list("abcdef"))
        clf = MACHClassifier(**SMALL).fit(frame, blobs[1])
        clf.save(tmp_path / "model")
        assert load(tmp_path / "model").feature_names == tuple("abcdef")
        frame[list("fedcba")].assign(note="more").to_csv(tmp_path / "rows.csv", index=False)
        result = CliRunner().invoke(app, ["predict", str(tmp_path / "model"), str(tmp_path / "rows.csv"), "--k", "3"])
        assert result.exit_code == 0, result.stderr
        answered = [[int(name) for name in json.loads(line)["labels"]] for line in result.stdout.splitlines()]
        assert answered == clf.top_k(frame, 3).labels.tolist()

    def test_names_are_forgotten_with_the_frame(self, blobs: tuple[np.ndarray, np.ndarray], tmp_path: Path) -> None:
        clf = MACHClassifier(**SMALL | {"epochs": 1}).fit(pd.DataFrame(blobs[0], columns=list("abcdef")), blobs[1])
        clf.fit(*blobs).save(tmp_path / "model")
        assert load(tmp_path / "model").feature_names is None
        assert clf.predictor_.feature_names is None

    def test_another_model_is_not_overwritten_unasked(self, fitted: MACHClassifier, tmp_path: Path) -> None:
        X, Y = multilabel()
        MACHClassifier(**SMALL).fit(X, Y).save(tmp_path / "model")
        with pytest.raises(PlanMismatch, match="a model here already"):
            fitted.save(tmp_path / "model")
        fitted.save(tmp_path / "model", overwrite=True)
        assert load(tmp_path / "model").n_labels == 20
        assert [path.name for path in tmp_path.iterdir()] == ["model"]

    def test_what_is_no_model_is_never_overwritten(self, fitted: MACHClassifier, tmp_path: Path) -> None:
        (tmp_path / "thesis.tex").write_text("years of work")
        for overwrite in (False, True):
            with pytest.raises(PlanMismatch, match="not a model folder"):
                fitted.save(tmp_path, overwrite=overwrite)

    def test_a_pickle_holds_no_training_rows(
        self, blobs: tuple[np.ndarray, np.ndarray], fitted: MACHClassifier
    ) -> None:
        X = np.tile(blobs[0], (50, 1))
        large = MACHClassifier(**SMALL | {"epochs": 1}).fit(X, np.tile(blobs[1], 50))
        assert len(pickle.dumps(large)) < len(pickle.dumps(fitted)) + 10_000


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"n_buckets": 1}, "n_buckets must be a whole number from 2"),
        ({"n_buckets": 2.5}, "n_buckets must be a whole number"),
        ({"n_repetitions": 0}, "n_repetitions must be a whole number from 1 to"),
        ({"hidden": (0,)}, "every width in hidden must be a whole number of at least 1"),
        ({"hidden": 500}, "hidden must be a tuple"),
        ({"epochs": 0}, "epochs must be a whole number of at least 1"),
        ({"batch_size": 0}, "batch_size must be"),
        ({"learning_rate": 0.0}, r"learning_rate must be a number in \(0"),
        ({"learning_rate": float("nan")}, r"learning_rate must be a number in \(0"),
        ({"weight_decay": -1.0}, r"weight_decay must be a number in \[0"),
        ({"dropout": 1.0}, r"dropout must be a number in \[0"),
        ({"loss": "hinge"}, "loss must be one of auto, softmax, bce"),
        ({"learner": "forest"}, "learner must be 'auto', 'network', 'linear' or a scikit-learn classifier"),
        ({"scaling": "log"}, "scaling must be one of"),
        ({"features": "words"}, "features must be one of None, 'text'"),
        ({"estimator": "mode"}, "estimator must be one of auto, mean, min, median, log"),
        ({"validation": 1.5}, r"validation must be a number in \(0"),
        ({"n_jobs": 0}, "n_jobs must be a whole number of at least 1"),
        ({"random_state": -1}, "random_state must be a whole number from 0"),
    ],
)
def test_bad_parameters_are_named(blobs: tuple[np.ndarray, np.ndarray], parameters: dict, message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        MACHClassifier(**SMALL | parameters).fit(*blobs)


class TestBadArrays:
    def test_nan_and_infinity_are_placed(self, blobs: tuple[np.ndarray, np.ndarray], fitted: MACHClassifier) -> None:
        for value, word in ((np.nan, "NaN"), (np.inf, "infinity"), (1e300, "infinity in float32")):
            X = blobs[0].astype(np.float64)
            X[7, 3] = value
            for form in (X, sp.csr_matrix(X)):
                with pytest.raises(ValueError, match=f"{word}.* row 7, column 3"):
                    MACHClassifier(**SMALL).fit(form, blobs[1])
                with pytest.raises(ValueError, match=f"{word}.* row 7, column 3"):
                    fitted.top_k(form, 1)

    @pytest.mark.parametrize("damage", ["negative", "beyond", "decreasing"])
    def test_malformed_csr_never_crashes(
        self, blobs: tuple[np.ndarray, np.ndarray], fitted: MACHClassifier, damage: str
    ) -> None:
        X = sp.csr_matrix(blobs[0])
        if damage == "decreasing":
            X.indptr[5] = 2
        else:
            X.indices[3] = -1 if damage == "negative" else 6
        for call in (lambda: MACHClassifier(**SMALL).fit(X, blobs[1]), lambda: fitted.predict(X)):
            with pytest.raises(ValueError, match="not a valid CSR matrix"):
                call()

    def test_lengths_and_widths(self, blobs: tuple[np.ndarray, np.ndarray], fitted: MACHClassifier) -> None:
        with pytest.raises(ValueError, match="400 rows, y has 399"):
            MACHClassifier(**SMALL).fit(blobs[0], blobs[1][:-1])
        with pytest.raises(ValueError, match=r"5 features.*6 features"):
            fitted.predict(blobs[0][:, :5])
        with pytest.raises(ValueError, match=r"0 sample\(s\)"):
            MACHClassifier(**SMALL).fit(np.empty((0, 3)), [])
        with pytest.raises(ValueError, match=r"0 feature\(s\)"):
            MACHClassifier(**SMALL).fit(np.empty((3, 0)), [1, 2, 3])

    @pytest.mark.parametrize(
        ("y", "message"),
        [
            ([0.5, 1.5, 2.5] * 4, "(?i)continuous"),
            ([0.0, np.nan, 1.0] * 4, "NaN or infinity at row 1"),
            (sp.csr_matrix(-np.eye(12)), "must be 0/1"),
            (["a", 1, "b"] * 4, "mixes types"),
            (None, "requires y"),
            (np.zeros((12, 9)), "no labels in any row"),
        ],
    )
    def test_bad_targets(self, y: object, message: str) -> None:
        with pytest.raises(ValueError, match=message):
            MACHClassifier(**SMALL).fit(np.eye(12), y)

    def test_k(self, fitted: MACHClassifier, blobs: tuple[np.ndarray, np.ndarray]) -> None:
        for k in (0, -1):
            with pytest.raises(ValueError, match="k must be at least 1"):
                fitted.top_k(blobs[0], k)
        with pytest.raises(ValueError, match="k must be a whole number"):
            fitted.top_k(blobs[0], 1.5)

    def test_before_fit(self, blobs: tuple[np.ndarray, np.ndarray], tmp_path: Path) -> None:
        for call in ("predict", "top_k", "predict_proba", "bucket_probabilities"):
            with pytest.raises(NotFittedError, match="not fitted"):
                getattr(MACHClassifier(), call)(blobs[0])
        with pytest.raises(NotFittedError, match="not fitted"):
            MACHClassifier().save(tmp_path)

    def test_a_dense_answer_too_large_is_refused_with_advice(self, fitted: MACHClassifier) -> None:
        rows = sp.csr_matrix((2**23, 6), dtype=np.float32)
        with pytest.raises(NotEnoughMemory, match="use top_k"):
            fitted.predict_proba(rows)

    @pytest.mark.parametrize(
        "kind", ["int64", "float64", "bool", "object", "read-only", "fortran", "strided", "memmap"]
    )
    def test_other_kinds_of_arrays_work(self, kind: str, tmp_path: Path) -> None:
        X = np.random.default_rng(0).integers(0, 2, (60, 6)).astype(np.float32)
        y = X.argmax(axis=1)
        expected = MACHClassifier(**SMALL | {"n_buckets": 3}).fit(X, y).top_k(X, 2).ids
        other = {"read-only": X, "fortran": np.asfortranarray(X), "strided": np.repeat(X, 2, axis=0)[::2]}.get(kind)
        if kind == "memmap":
            np.save(tmp_path / "x.npy", X)
            other = np.load(tmp_path / "x.npy", mmap_mode="r")
        other = X.astype(kind) if other is None else other
        if kind == "read-only":
            other = other.copy()
            other.flags.writeable = False
        assert np.array_equal(MACHClassifier(**SMALL | {"n_buckets": 3}).fit(other, y).top_k(other, 2).ids, expected)

    def test_64_bit_indices_work(self) -> None:
        X, Y = multilabel()
        wide = X.copy()
        wide.indices, wide.indptr = wide.indices.astype(np.int64), wide.indptr.astype(np.int64)
        one, other = (MACHClassifier(**SMALL).fit(form, Y).top_k(form, 3).ids for form in (X, wide))
        assert np.array_equal(one, other)


def test_weight_zero_is_as_good_as_absent(blobs: tuple[np.ndarray, np.ndarray]) -> None:
    X, y = blobs
    weights = (np.arange(400) % 4 > 0).astype(float)
    weighted = MACHClassifier(**SMALL).fit(X, y, sample_weight=weights)
    absent = MACHClassifier(**SMALL).fit(X[weights > 0], y[weights > 0])
    np.testing.assert_array_equal(weighted.bucket_probabilities(X), absent.bucket_probabilities(X))
    with pytest.raises(ValueError, match=r"(?i)zero"):
        MACHClassifier(**SMALL).fit(X, y, sample_weight=np.zeros(400))


def test_more_buckets_than_classes_warns(blobs: tuple[np.ndarray, np.ndarray]) -> None:
    with pytest.warns(UserWarning, match="n_buckets=50 is more than the 20 labels"):
        MACHClassifier(**SMALL | {"n_buckets": 50, "epochs": 1}).fit(*blobs)


def test_import_is_cheap_and_needs_no_framework() -> None:
    code = (
        "import sys, xmach; assert not {'numpy', 'sklearn', 'numba', 'torch'} & set(sys.modules); xmach.MACHClassifier"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
