"""Buckets made of the rows: which repetitions have them, that they are learnt from, stored and gone on with."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tests.conftest import made_up

from xmach import MACHClassifier, load
from xmach.buckets import LearnedBuckets, UniversalHashes, clustered_repetitions, signs
from xmach.config import MachConfig
from xmach.data import Dataset
from xmach.decoding import Decoder
from xmach.errors import ModelCorrupt, NotEnoughMemory, ParameterError, PlanMismatch
from xmach.executors import Board, Executor, LocalExecutor, PoolExecutor
from xmach.features import fit_scaler
from xmach.store import ModelStore
from xmach.store.index import build_index
from xmach.store.tensors import read_tensors, write_tensors
from xmach.training import job as job_module
from xmach.training.bucketing import label_points, make_buckets
from xmach.training.job import Job, plan_training
from xmach.training.run import train
from xmach.types import SparseRows

CONFIG = MachConfig(hidden=(16,), epochs=2, batch_size=32, n_buckets=8, n_repetitions=4, bucketing="mixed", seed=1)


def job_of(data: Dataset, bucketing: str = "mixed", epochs: int = 2) -> Job:
    config = replace(CONFIG, bucketing=bucketing, epochs=epochs)
    return plan_training(data, config, fit_scaler(data.features))


def trained(folder: Path, job: Job, executor: Executor) -> ModelStore:
    store = ModelStore(folder)
    store.begin(job.plan, job.data.label_counts(), job.data.label_names, job.scaler)
    board = Board.for_repetitions([0, 1, 2, 3])
    try:
        train(job, [r for r in range(4) if not store.has(r)], executor, board, store)
    finally:
        board.close()
    store.finish("log", None, {})
    return store


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return trained(tmp_path_factory.mktemp("mixed") / "model", job_of(made_up()), LocalExecutor()).folder


@pytest.fixture
def model(finished: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(finished, tmp_path / "model"))


def test_which_repetitions_have_clusters() -> None:
    assert list(clustered_repetitions("random", 5)) == []
    assert list(clustered_repetitions("mixed", 5)) == [1, 3]
    assert list(clustered_repetitions("clustered", 3)) == [0, 1, 2]
    assert list(clustered_repetitions("mixed", 1)) == []
    with pytest.raises(ParameterError, match="bucketing must be one of random, mixed, clustered, got 'learned'"):
        clustered_repetitions("learned", 3)


@pytest.mark.parametrize("dense", [False, True], ids=["sparse", "dense"])
def test_points_are_projected_sums_of_scaled_rows(small_data: Dataset, dense: bool) -> None:
    rows = small_data.features
    assert isinstance(rows, SparseRows)
    full = np.zeros(rows.shape, np.float32)
    for i in range(rows.n_rows):
        full[i, rows.row(i)[0]] = rows.row(i)[1]
    weights = np.linspace(0.5, 2, rows.n_rows).astype(np.float32)
    data = Dataset(full if dense else rows, small_data.labels, weights=weights)
    scaler = fit_scaler(data.features, "l2")
    points = label_points(data, scaler, 0, 1)
    unit = (weights / weights.mean())[:, None] * full / np.linalg.norm(full, axis=1, keepdims=True)
    sums = np.zeros((small_data.n_labels, rows.n_columns))
    for i in range(len(full)):
        own = small_data.labels.row(i)[0]
        sums[own] += unit[i] / len(own)
    np.testing.assert_allclose(points, sums @ signs(rows.n_columns, 0, 1), rtol=1e-3, atol=1e-4)


def test_random_buckets_are_the_hashes_themselves(small_data: Dataset) -> None:
    hashes = UniversalHashes.draw(30, 8, 4, 1)
    assert make_buckets(hashes, "random", small_data, fit_scaler(small_data.features), 1) is hashes
    assert job_of(small_data, "random").plan.hashes == hashes
    assert "bucketing" not in job_of(small_data, "random").plan.to_dict()  # as older versions had it


def test_what_would_not_fit_is_refused_before_it_begins(small_data: Dataset, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(job_module, "available_bytes", lambda: 20_000)
    with pytest.raises(NotEnoughMemory, match=r"clustering similar labels into buckets needs 28\.98 KiB .* use random"):
        job_of(small_data)


def test_progress_is_told(small_data: Dataset) -> None:
    told: list[tuple[int, int]] = []
    hashes = UniversalHashes.draw(30, 8, 4, 1)
    make_buckets(hashes, "mixed", small_data, fit_scaler(small_data.features), 1, lambda *how: told.append(how))
    assert told == [(1, 2), (2, 2)]


def test_same_bytes_from_a_pool_and_after_a_part(tmp_path: Path, finished: Path) -> None:
    saved = made_up().save(tmp_path / "data")
    pooled = trained(tmp_path / "pooled", job_of(saved), PoolExecutor(2)).folder
    for path in finished.rglob("*.safetensors"):
        assert path.read_bytes() == (pooled / path.relative_to(finished)).read_bytes()


def test_a_stored_model_answers_as_the_fitted_one(tmp_path: Path) -> None:
    data = made_up()
    X = np.zeros(data.features.shape, np.float32)
    labels = []
    for i in range(data.n_rows):
        X[i, data.features.row(i)[0]] = 1.0  # type: ignore[union-attr]
        labels.append(data.labels.row(i)[0].tolist())
    fitted = MACHClassifier(8, 4, hidden=(16,), epochs=2, bucketing="mixed").fit(X, labels)
    assert isinstance(fitted.predictor_.hashes, LearnedBuckets)
    fitted.save(tmp_path / "model")
    loaded = load(tmp_path / "model")
    for mine, theirs in zip(fitted.top_k(X, 5), loaded.top_k(X, 5), strict=True):
        np.testing.assert_array_equal(mine, theirs)


def test_it_learns_and_every_search_gives_the_same(finished: Path) -> None:
    data, predictor = made_up(), load(finished)
    best = predictor.top_k(data.features, 2).ids
    hits = np.mean([np.isin(best[i], data.labels.row(i)[0]).mean() for i in range(data.n_rows)])
    assert hits > 0.2  # 0.07 by chance
    sketch = predictor.bucket_probabilities(data.features)
    for estimator in ("mean", "log"):
        exact = Decoder(predictor.hashes, estimator, "exact").top_k(sketch, 7)
        pruned = Decoder(predictor.hashes, estimator, "pruned").top_k(sketch, 7)
        table = Decoder(predictor.hashes.signatures(), estimator, "exact").top_k(sketch, 7)
        for one, other, third in zip(exact, pruned, table, strict=True):
            assert one.tobytes() == other.tobytes() == third.tobytes()
    some = predictor.top_k(data.features, 5, candidates=np.array([3, 17, 4])).ids
    every = predictor.top_k(data.features, 30).ids
    for i in range(data.n_rows):
        assert some[i].tolist() == [label for label in every[i].tolist() if label in (3, 4, 17)]
    with pytest.raises(ParameterError, match=r"index='computed' needs the hashes.*buckets made from rows"):
        Decoder(predictor.hashes, index="computed")


def test_an_index_beside_the_model_gives_the_same(model: Path) -> None:
    before = load(model).top_k(made_up().features, 5)
    build_index(model, ModelStore(model).plan().hashes)
    with_index = load(model)
    assert with_index.index is not None
    for one, other in zip(before, with_index.top_k(made_up().features, 5), strict=True):
        np.testing.assert_array_equal(one, other)


def test_the_folder_is_format_4_and_lists_its_buckets(model: Path) -> None:
    manifest = json.loads((model / "manifest.json").read_text())
    assert manifest["format"] == 4
    assert manifest["plan"]["bucketing"] == "mixed"
    assert "buckets.safetensors" in manifest["files"]


def test_damaged_or_missing_buckets_are_refused(model: Path) -> None:
    file = model / "buckets.safetensors"
    whole = file.read_bytes()
    file.write_bytes(whole[:-2] + bytes([whole[-2] ^ 1, whole[-1]]))  # another bucket
    with pytest.raises(ModelCorrupt, match=r"buckets\.safetensors: the content does not match the manifest"):
        load(model)
    file.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))  # no bucket at all
    for verify in (True, False):  # no kernel may ever see it
        with pytest.raises(
            ModelCorrupt, match=r"buckets\.safetensors: .*repetition 3 are not all whole numbers below 8"
        ):
            load(model, verify=verify)
    file.unlink()
    with pytest.raises(ModelCorrupt, match=r"buckets\.safetensors: .*not there"):
        load(model)


def test_without_a_manifest_buckets_are_held_against_the_plan(model: Path) -> None:
    (model / "manifest.json").unlink()
    file = model / "buckets.safetensors"
    tables, about = read_tensors(file, verify=True)
    turned = {name: table[::-1] for name, table in tables.items()}
    write_tensors(file, turned, {"format": about["format"]})  # sound in itself
    with pytest.raises(ModelCorrupt, match="the buckets of repetition 1 are not those of the plan"):
        load(model, allow_partial=True)
    job = job_of(made_up())
    with pytest.raises(ModelCorrupt, match="the buckets of repetition 1 are not those of the plan"):
        ModelStore(model).begin(job.plan, job.data.label_counts(), None, job.scaler)
    write_tensors(file, {"repetition.001": turned["repetition.001"]}, {"format": about["format"]})
    with pytest.raises(ModelCorrupt, match="not the tables of the plan's repetitions"):
        load(model, allow_partial=True)
    write_tensors(file, {name: table[1:] for name, table in tables.items()}, {"format": about["format"]})
    with pytest.raises(
        ModelCorrupt, match=r"buckets\.safetensors: the bucket table of repetition 1 must have shape \(30,\)"
    ):
        load(model, allow_partial=True)


@pytest.mark.parametrize(("n_buckets", "n_repetitions"), [(8, 1), (70_000, 2)], ids=["no table at all", "32 bits"])
@pytest.mark.filterwarnings("ignore:n_buckets", "ignore:with one repetition")
def test_small_and_large(tmp_path: Path, n_buckets: int, n_repetitions: int) -> None:
    X, y = np.eye(12, dtype=np.float32), np.arange(12)
    fitted = MACHClassifier(n_buckets, n_repetitions, hidden=(), epochs=2, bucketing="mixed").fit(X, y)
    fitted.save(tmp_path / "model")
    np.testing.assert_array_equal(load(tmp_path / "model").top_k(X, 3).ids, fitted.top_k(X, 3).ids)


def test_one_repetition_is_no_mixture_and_says_so() -> None:
    with pytest.warns(UserWarning, match="with one repetition, bucketing='mixed' is random buckets"):
        MACHClassifier(4, 1, hidden=(), epochs=1, bucketing="mixed").fit(np.eye(12, dtype=np.float32), np.arange(12))


def test_tables_that_are_there_are_not_made_again(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*arguments: object) -> None:
        raise AssertionError("tables were made")

    store, data = ModelStore(model), made_up()
    begun = store.begun_plan()
    assert begun is not None
    monkeypatch.setattr(job_module, "make_buckets", fail)
    job = plan_training(data, CONFIG, fit_scaler(data.features), begun=begun)
    assert job.plan.to_dict() == begun.to_dict()
    store.begin(job.plan, data.label_counts(), None, job.scaler)
    with pytest.raises(AssertionError, match="tables were made"):  # another seed, other tables
        plan_training(data, replace(CONFIG, seed=2), fit_scaler(data.features), begun=begun)
    (model / "buckets.safetensors").unlink()  # killed before they were written
    assert store.begun_plan() is None
    assert ModelStore(model / "elsewhere").begun_plan() is None


def test_a_repetition_of_another_model_is_refused_at_once(model: Path, tmp_path: Path) -> None:
    other = trained(tmp_path / "other", job_of(made_up(), "random"), LocalExecutor())
    ModelStore(model).check_present()
    shutil.copy(other.path(2), ModelStore(model).path(2))
    with pytest.raises(ModelCorrupt, match=r"repetition-002\.safetensors: this file belongs to another model"):
        ModelStore(model).check_present()


def test_row_weights_count_by_their_shares(small_data: Dataset) -> None:
    scaler, draw = fit_scaler(small_data.features), np.random.default_rng(0)
    weights = draw.uniform(0.5, 2, small_data.n_rows)
    tables = []
    for scale in (1.0, 2.0**70, 2.0**-70):  # squares of which float32 does not have
        data = Dataset(small_data.features, small_data.labels, weights=(scale * weights).astype(np.float32))
        buckets = make_buckets(UniversalHashes.draw(30, 8, 2, 1), "mixed", data, scaler, 1)
        assert isinstance(buckets, LearnedBuckets)
        tables.append(buckets.tables[1].tolist())
    assert tables[0] == tables[1] == tables[2]


def test_a_damaged_plan_says_so(model: Path) -> None:
    (model / "plan.json").write_text('{"format": 4, "bucketing": "mixed"}')
    job = job_of(made_up())
    with pytest.raises(ModelCorrupt, match=r"plan\.json: the plan is damaged"):
        ModelStore(model).begin(job.plan, job.data.label_counts(), None, job.scaler)
    with pytest.raises(ModelCorrupt, match=r"plan\.json: the plan is damaged"):
        ModelStore(model).present()


def test_other_buckets_in_a_folder_are_another_plan(model: Path) -> None:
    data = made_up()
    for bucketing in ("random", "clustered"):
        job = job_of(data, bucketing)
        with pytest.raises(PlanMismatch, match="bucketing"):
            ModelStore(model).begin(job.plan, data.label_counts(), None, job.scaler)
    job = job_of(data)
    hashes = job.plan.hashes
    assert isinstance(hashes, LearnedBuckets)
    hashes.tables[1][:] = (hashes.tables[1] + 1) % 8
    with pytest.raises(PlanMismatch, match="tables of buckets: made by another version"):
        ModelStore(model).begin(job.plan, data.label_counts(), None, job.scaler)


def test_a_part_of_the_repetitions_answers(model: Path) -> None:
    (model / "repetition-000.safetensors").unlink()
    partial = load(model, allow_partial=True)
    whole = ModelStore(model).plan().hashes
    np.testing.assert_array_equal(partial.hashes.signatures(), whole.signatures()[:, 1:])
