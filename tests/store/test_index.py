"""An index beside a model: the same answers, shared pages, whole or not at all; refused where it is not the model's."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from xmach import load
from xmach.buckets import UniversalHashes
from xmach.config import MachConfig
from xmach.data import Dataset
from xmach.errors import ModelCorrupt, ModelMissing, ParameterError
from xmach.executors import LocalExecutor
from xmach.features import fit_scaler
from xmach.files import processes
from xmach.planning import human_bytes
from xmach.store import ModelStore, build_index, index_bytes, open_index, remove_index, replacing
from xmach.training.job import plan_training
from xmach.training.run import train
from xmach.types import FloatArray, Progress, SparseRows

N_LABELS, N_BUCKETS, N_REPETITIONS = 20_000, 300, 4  # enough labels for the pruned search
ADVICE = r"build it anew \(xmach index\) or remove it"


class Quiet:
    def report(self, repetition: int, progress: Progress, part: int = 0) -> None: ...

    def should_stop(self) -> bool:
        return False


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model whose every label has a row."""
    labels = np.arange(N_LABELS, dtype=np.int32).reshape(-1, 20)  # (1000, 20)
    rows = SparseRows(np.arange(0, N_LABELS + 1, 20), labels.ravel(), np.ones(N_LABELS, np.float32), N_LABELS)
    data = Dataset(np.random.default_rng(0).random((1000, 6), dtype=np.float32), rows)
    config = MachConfig(n_buckets=N_BUCKETS, n_repetitions=N_REPETITIONS, hidden=(), epochs=1, batch_size=256)
    job = plan_training(data, config, fit_scaler(data.features))
    store = ModelStore(tmp_path_factory.mktemp("index") / "model")
    store.begin(job.plan, data.label_counts(), None, job.scaler)
    train(job, range(N_REPETITIONS), LocalExecutor(), Quiet(), store)
    store.finish("log", None, {})
    return store.folder


@pytest.fixture
def model(finished: Path, tmp_path: Path) -> Path:
    """A copy without an index."""
    return Path(shutil.copytree(finished, tmp_path / "model"))


@pytest.fixture
def indexed(model: Path) -> Path:
    """A copy with one."""
    build_index(model, hashes_of(model), threads=2)
    return model


def hashes_of(model: Path) -> UniversalHashes:
    return ModelStore(model).plan().hashes


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def peaked(n: int = 12) -> FloatArray:
    """Bucket probabilities of rows that have some labels: lists worth reading."""
    draw = np.random.default_rng(1)
    sketch = draw.random((n, N_REPETITIONS, N_BUCKETS), dtype=np.float32) * np.float32(1e-3)
    sketch[:, :, :5] += np.float32(0.1)
    return sketch / sketch.sum(axis=2, keepdims=True)


def half_made(model: Path) -> list[Path]:
    return list(model.glob(".*"))


@pytest.mark.parametrize("estimator", ["mean", "log", "min", "median"])
def test_answers_are_those_without_one(finished: Path, indexed: Path, estimator: str) -> None:
    with_index, without = load(indexed), load(finished)
    assert with_index.index is not None
    assert without.index is None
    for k in (1, 7, 100):
        got, statistics = with_index.decoder.search_top_k(peaked(), k, estimator=estimator)
        expected, expected_statistics = without.decoder.search_top_k(peaked(), k, estimator=estimator)
        assert np.array_equal(got.ids, expected.ids)
        assert got.scores.tobytes() == expected.scores.tobytes()
        assert np.array_equal(statistics.scanned, expected_statistics.scanned)
    rows = np.random.default_rng(2).random((5, 6), dtype=np.float32)
    ours, theirs = (predictor.top_k(rows, 10, estimator=estimator) for predictor in (with_index, without))
    assert np.array_equal(ours.ids, theirs.ids)
    assert ours.scores.tobytes() == theirs.scores.tobytes()


def test_the_decoder_reads_the_files(indexed: Path) -> None:
    predictor = load(indexed)
    assert predictor.index is not None
    assert predictor.decoder.index == "stored"
    predictor.decoder.top_k(peaked(), 5)
    assert predictor.decoder._pruned.index.labels is predictor.index.labels  # no tables of its own


def test_tables_are_those_of_the_hashes(indexed: Path) -> None:
    hashes = hashes_of(indexed)
    index = open_index(indexed, hashes)
    assert index is not None
    assert np.array_equal(index.signatures, hashes.signatures())
    for r in range(N_REPETITIONS):
        assert np.array_equal(index.labels[r], np.argsort(index.signatures[:, r], kind="stable"))
        assert np.array_equal(np.diff(index.offsets[r]), np.bincount(index.signatures[:, r], minlength=N_BUCKETS))
    sizes = {name: len(content) for name, content in contents(indexed / "index").items() if name != "about.json"}
    assert sum(sizes.values()) == index_bytes(hashes)
    assert set(sizes) == {"signatures", "offsets", "labels"}


def test_processes_share_the_pages(indexed: Path) -> None:
    index = open_index(indexed, hashes_of(indexed))
    assert index is not None
    for name in ("signatures", "offsets", "labels"):
        array = getattr(index, name)
        assert isinstance(array.base, np.memmap)
        assert array.base.mode == "c"
    before = contents(indexed / "index")
    index.labels[0, 0] = 7  # a page of this process's own from now on
    assert contents(indexed / "index") == before


@pytest.mark.parametrize("threads", [1, 3])
def test_built_again_it_is_the_same_bytes(indexed: Path, threads: int) -> None:
    before = contents(indexed)
    build_index(indexed, hashes_of(indexed), threads)
    assert contents(indexed) == before
    assert not half_made(indexed)


def test_progress_is_told(model: Path) -> None:
    told: list[tuple[int, int]] = []
    build_index(model, hashes_of(model), 1, lambda done, total: told.append((done, total)))
    assert [done for done, _ in told] == sorted(done for done, _ in told)
    assert told[-1] == (2 * N_LABELS * N_REPETITIONS,) * 2


def test_two_may_build_at_once(model: Path) -> None:
    with ThreadPoolExecutor(4) as pool:
        builds = [pool.submit(build_index, model, hashes_of(model), 1) for _ in range(12)]
    assert [build.exception() for build in builds] == [None] * 12
    assert load(model).index is not None
    assert not half_made(model)


def test_killed_in_the_middle_it_leaves_nothing_that_counts(model: Path) -> None:
    code = f"""
import os, signal
from pathlib import Path
from xmach.store import ModelStore, build_index
model = Path({str(model)!r})
build_index(model, ModelStore(model).plan().hashes, 1, lambda done, total: os.kill(os.getpid(), signal.SIGKILL))
"""
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == -signal.SIGKILL
    assert len(half_made(model)) == 1
    assert load(model).index is None
    build_index(model, hashes_of(model))
    assert not half_made(model)
    assert load(model).index is not None


def test_what_others_are_making_stays(model: Path) -> None:
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    live, dead, elsewhere, old, foreign = (
        model / f".index.{writer}.part"
        for writer in (
            processes.writer(),
            f"{processes.machine()}-{ended.pid}-1-01",
            "beef-1-1-01",
            "cafe-1-1-01",
            "mine",
        )
    )
    for path in (live, dead, elsewhere, old, foreign):
        path.mkdir()
        (path / "labels").write_text("half a table")
    for path in (*old.iterdir(), old):
        os.utime(path, (0, 0))
    build_index(model, hashes_of(model))
    assert [path.exists() for path in (live, dead, elsewhere, old, foreign)] == [True, False, True, False, True]


def test_an_error_in_the_middle_keeps_the_old_one(indexed: Path) -> None:
    before = contents(indexed)

    def fail(done: int, total: int) -> None:
        raise KeyboardInterrupt("Ctrl-C")

    with pytest.raises(KeyboardInterrupt, match="Ctrl-C"):
        build_index(indexed, hashes_of(indexed), 1, fail)
    assert contents(indexed) == before
    assert not half_made(indexed)


DAMAGE: dict[str, Callable[[bytes], bytes]] = {
    "cut off": lambda content: content[:-8],
    "longer": lambda content: content + b"more",
    "empty": lambda content: b"",
    "zeros": lambda content: bytes(len(content)),
    "noise": lambda content: np.random.default_rng(0).bytes(len(content)),
}


@pytest.mark.parametrize("name", ["signatures", "offsets", "labels", "about.json"])
@pytest.mark.parametrize("damage", [*DAMAGE, "missing"])
def test_damage_is_said_with_advice(indexed: Path, name: str, damage: str) -> None:
    path = indexed / "index" / name
    content = path.read_bytes()
    path.unlink()
    if damage in DAMAGE:
        path.write_bytes(DAMAGE[damage](content))
    with pytest.raises(ModelCorrupt, match=ADVICE):
        load(indexed)
    build_index(indexed, hashes_of(indexed))
    load(indexed)


def test_lists_out_of_order_are_found(indexed: Path) -> None:
    """A kernel would read beyond a table by them."""
    offsets = np.memmap(indexed / "index" / "offsets", np.int64, "r+")
    offsets[5] += N_LABELS
    offsets.flush()
    with pytest.raises(ModelCorrupt, match="not that of this model"):
        load(indexed)


def test_the_index_of_another_model_is_refused(indexed: Path) -> None:
    hashes = UniversalHashes.draw(N_LABELS, N_BUCKETS, N_REPETITIONS, seed=5)
    build_index(indexed, hashes)
    with pytest.raises(ModelCorrupt, match=f"the index is not that of this model; {ADVICE}"):
        load(indexed)
    about = indexed / "index" / "about.json"
    about.write_text(json.dumps(hashes_of(indexed).to_dict()))  # tables of other hashes under the right name
    with pytest.raises(ModelCorrupt, match="the index is not that of this model"):
        load(indexed)


def test_a_partial_model_leaves_it_alone(indexed: Path) -> None:
    (indexed / "repetition-001.safetensors").unlink()
    partial = load(indexed, allow_partial=True)
    assert partial.index is None
    assert partial.decoder.top_k(peaked()[:, 1:], 3).ids.shape == (12, 3)


def test_it_is_no_part_of_the_model(finished: Path, indexed: Path) -> None:
    store, manifest = ModelStore(indexed), (finished / "manifest.json").read_bytes()
    store.verify(store.present())
    store.finish("log", None, {})
    assert (indexed / "manifest.json").read_bytes() == manifest
    assert load(indexed).index is not None


def test_a_model_in_its_place_has_none(finished: Path, indexed: Path) -> None:
    with replacing(indexed, overwrite=True) as store:
        shutil.copytree(finished, store.folder, dirs_exist_ok=True)
    assert contents(indexed) == contents(finished)
    assert load(indexed).index is None


def test_removing(finished: Path, indexed: Path) -> None:
    assert remove_index(indexed)
    assert not remove_index(indexed)
    assert contents(indexed) == contents(finished)
    assert not half_made(indexed)


def test_answers_go_on_when_it_is_removed_or_replaced(indexed: Path) -> None:
    decoder = load(indexed).decoder
    expected = decoder.top_k(peaked(), 5)
    build_index(indexed, hashes_of(indexed))
    remove_index(indexed)
    assert np.array_equal(decoder.top_k(peaked(), 5).ids, expected.ids)


def test_no_room_on_disk_is_said(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    usage = shutil.disk_usage(model)
    monkeypatch.setattr(shutil, "disk_usage", lambda path: usage._replace(free=1000))
    needed = human_bytes(index_bytes(hashes_of(model)))
    with pytest.raises(OSError, match=f"the index needs {needed} on disk, {human_bytes(1000)} are free"):
        build_index(model, hashes_of(model))
    assert not half_made(model)


def test_what_cannot_be_built(model: Path, tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="threads must be a whole number of at least 1, got 0"):
        build_index(model, hashes_of(model), 0)
    with pytest.raises(ModelMissing, match="no such folder"):
        build_index(tmp_path / "nothing", hashes_of(model))
    assert not remove_index(tmp_path / "nothing")
