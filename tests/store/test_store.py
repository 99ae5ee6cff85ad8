"""The model folder: what is written, what is refused, what a damaged folder says."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import uuid
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.conftest import made_up

from xmach import load
from xmach.config import MachConfig
from xmach.data import Columns, Dataset
from xmach.data.arrays import as_sparse_rows
from xmach.errors import (
    ModelCorrupt,
    ModelFormatUnsupported,
    ModelIncomplete,
    ModelMissing,
    NotStorable,
    PlanMismatch,
)
from xmach.executors import LocalExecutor
from xmach.features import fit_scaler
from xmach.files import remove_abandoned, renaming
from xmach.store import ModelStore, replacing, tensors
from xmach.store.names import read_names, write_names
from xmach.store.tensors import write_tensors
from xmach.training.job import Job, plan_training
from xmach.training.run import train
from xmach.types import FloatArray, Progress, Rows, SparseRows

GOLDEN = Path(__file__).parent.parent / "golden"


class Quiet:
    def report(self, repetition: int, progress: Progress, part: int = 0) -> None: ...

    def should_stop(self) -> bool:
        return False


def job_of(data: Dataset, epochs: int = 1) -> Job:
    config = MachConfig(n_buckets=8, n_repetitions=3, hidden=(8,), epochs=epochs, batch_size=64)
    return plan_training(data, config, fit_scaler(data.features))


@pytest.fixture(scope="session")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("store") / "model"
    data = made_up()
    named = Dataset(data.features, data.labels, [f"label {i}" for i in range(data.n_labels)])
    job, store = job_of(named), ModelStore(folder)
    store.begin(job.plan, named.label_counts(), named.label_names, job.scaler)
    train(job, range(3), LocalExecutor(), Quiet(), store)
    store.finish("log", 0.5, {"validation precision@1 log": 0.25})
    return folder


@pytest.fixture
def model(finished: Path, tmp_path: Path) -> Path:
    """A copy that a test may damage."""
    return Path(shutil.copytree(finished, tmp_path / "model"))


def test_the_folder_is_format_1(model: Path) -> None:
    names = sorted(str(path.relative_to(model)) for path in model.rglob("*") if path.is_file())
    assert names == [
        "features/idf.safetensors", "label_counts.safetensors", "labels.arrow", "manifest.json", "plan.json",
        "repetition-000.safetensors", "repetition-001.safetensors", "repetition-002.safetensors",
    ]  # fmt: skip
    manifest = json.loads((model / "manifest.json").read_text())
    assert manifest["format"] == 1
    assert set(manifest["files"]) == set(names) - {"manifest.json"}
    assert manifest["threshold"] == 0.5


def test_loading_gives_the_predictor_back(model: Path) -> None:
    predictor = load(model)
    best = predictor.top_k(made_up().features, 3)
    assert best.labels[0, 0] == f"label {best.ids[0, 0]}"
    assert predictor.estimator == "log"
    assert predictor.threshold == 0.5
    assert predictor.label_counts.total == made_up().labels.nnz


@pytest.mark.parametrize(
    ("columns", "names"),
    [
        (None, None),
        (Columns(features=("a", "b")), ("a", "b")),
        (Columns(features=("0", "1"), header=False), None),  # numbers of columns are not names
        (Columns(text=("title",)), None),
    ],
    ids=["no table", "table", "no header", "text"],
)
def test_the_columns_of_a_table_are_the_names_of_features(
    tmp_path: Path, columns: Columns | None, names: tuple[str, ...] | None
) -> None:
    data = Dataset(np.eye(2, dtype=np.float32), as_sparse_rows(np.eye(2, dtype=np.float32)), columns=columns)
    job, store = job_of(data), ModelStore(tmp_path / "model")
    store.begin(job.plan, data.label_counts(), None, job.scaler)
    train(job, range(3), LocalExecutor(), Quiet(), store)
    store.finish("log", None, {})
    assert load(tmp_path / "model").feature_names == names


def test_labels_without_rows_take_no_room_among_many(tmp_path: Path) -> None:
    """Format 2; the same model of few labels is format 1, which lists them all."""
    features = np.eye(4, dtype=np.float32)
    for n_labels, number in ((1_000_000, 2), (1000, 1)):
        labels = SparseRows(np.arange(5), np.array([7, 3, 7, 999], np.int32), np.ones(4, np.float32), n_labels)
        data = Dataset(features, labels)
        job, store = job_of(data), ModelStore(tmp_path / str(n_labels))
        store.begin(job.plan, data.label_counts(), None, job.scaler)
        train(job, range(3), LocalExecutor(), Quiet(), store)
        store.finish("log", None, {})
        assert {json.loads((store.folder / name).read_text())["format"] for name in ("plan.json", "manifest.json")} == {
            number
        }
        assert (store.folder / "label_counts.safetensors").stat().st_size < 5000
        counts = load(store.folder).label_counts
        assert (np.flatnonzero(counts.dense()).tolist(), counts.total) == ([3, 7, 999], 4)
        assert set(load(store.folder).top_k(features, 3).ids.ravel().tolist()) == {3, 7, 999}  # unseen ones are last


def test_counts_of_another_number_of_labels_are_refused(model: Path) -> None:
    (model / "manifest.json").unlink()
    write_tensors(model / "label_counts.safetensors", {"label_counts": np.ones(5, np.int32)}, {"format": 1})
    with pytest.raises(ModelCorrupt, match="not the counts of the plan's labels"):
        load(model, allow_partial=True)


@pytest.mark.parametrize("names", [["a", "b", "c"], np.array([5, 6, 7], np.int32), np.array([0.5, 1.5, 2.5])])
def test_names_are_read_where_they_lie(tmp_path: Path, names: Any) -> None:
    write_names(tmp_path / "labels.arrow", names)
    stored, ids = read_names(tmp_path / "labels.arrow"), np.array([[2, 0], [1, -1]])
    expected = np.array(names, object if isinstance(names, list) else None)[ids]
    assert stored[ids].dtype == expected.dtype
    assert stored[ids].tolist() == expected.tolist()
    assert (len(stored), stored.tolist()) == (3, list(names))


def test_no_checksum_is_read_where_none_is_asked_for(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(arrays: object) -> str:
        raise AssertionError("a checksum was computed")

    monkeypatch.setattr(tensors, "_digest", refuse)
    load(model, verify=False)
    load(model)  # the manifest vouches for whole files: no array is read twice


def test_weights_are_memory_mapped_and_read_only(model: Path) -> None:
    weights = load(model).models[0].arrays()["weights.0"]
    assert not weights.flags.writeable
    assert not weights.flags.owndata


@pytest.mark.parametrize(
    "name",
    ["plan.json", "labels.arrow", "label_counts.safetensors", "features/idf.safetensors", "repetition-001.safetensors"],
)
class TestDamage:
    def test_a_flipped_bit_is_found(self, model: Path, name: str) -> None:
        content = bytearray((model / name).read_bytes())
        content[-3] ^= 1
        (model / name).write_bytes(content)
        with pytest.raises(ModelCorrupt, match=name.split("/")[-1]):
            load(model)

    def test_a_file_cut_off_is_found(self, model: Path, name: str) -> None:
        content = (model / name).read_bytes()
        (model / name).write_bytes(content[: len(content) // 2])
        with pytest.raises(ModelCorrupt, match=name.split("/")[-1]):
            load(model)

    def test_an_empty_file_is_found(self, model: Path, name: str) -> None:
        (model / name).write_bytes(b"")
        with pytest.raises(ModelCorrupt, match=name.split("/")[-1]):
            load(model)


def test_a_flipped_bit_is_found_without_a_manifest(model: Path) -> None:
    (model / "manifest.json").unlink()
    path = model / "repetition-001.safetensors"
    content = bytearray(path.read_bytes())
    content[-3] ^= 1
    path.write_bytes(content)
    with pytest.raises(ModelCorrupt, match="repetition-001"):
        load(model, allow_partial=True)
    load(model, allow_partial=True, verify=False)


def test_a_cut_off_repetition_is_found_even_without_verifying(model: Path) -> None:
    path = model / "repetition-001.safetensors"
    path.write_bytes(path.read_bytes()[:-8])
    with pytest.raises(ModelCorrupt, match="beyond the end"):
        load(model, verify=False)


def test_missing_repetitions_are_refused_or_allowed(model: Path) -> None:
    (model / "repetition-001.safetensors").unlink()
    (model / "manifest.json").unlink()
    with pytest.raises(ModelIncomplete, match=r"1 of 3 repetitions are missing \(1\)"):
        load(model)
    partial = load(model, allow_partial=True)
    assert len(partial.models) == 2
    assert partial.hashes.a == (load_plan(model).hashes.a[0], load_plan(model).hashes.a[2])
    partial.top_k(made_up().features, 3)


def load_plan(folder: Path):  # type: ignore[no-untyped-def]
    return ModelStore(folder).plan()


def test_a_folder_without_manifest_is_refused(model: Path) -> None:
    (model / "manifest.json").unlink()
    with pytest.raises(ModelIncomplete, match="no manifest"):
        load(model)


def test_other_folders_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ModelMissing, match="no such folder"):
        load(tmp_path / "nothing")
    with pytest.raises(ModelMissing, match="no model here"):
        load(tmp_path)


def test_a_newer_format_is_refused(model: Path) -> None:
    plan = json.loads((model / "plan.json").read_text())
    (model / "plan.json").write_text(json.dumps(plan | {"format": 8}))
    with pytest.raises(
        ModelFormatUnsupported, match="format 8; this version of xmach reads formats 1, 2, 3, 4, 5, 6, 7"
    ):
        load(model)


def test_a_repetition_of_another_model_is_refused(model: Path, tmp_path: Path) -> None:
    data = made_up(seed=5)
    job, other = job_of(data), ModelStore(tmp_path / "other")
    other.begin(job.plan, data.label_counts(), None, job.scaler)
    shutil.copy(model / "repetition-000.safetensors", other.folder)
    with pytest.raises(ModelCorrupt, match="belongs to another model"):
        load(other.folder, allow_partial=True)


def test_a_repetition_under_another_number_is_refused(model: Path) -> None:
    (model / "manifest.json").unlink()
    shutil.copy(model / "repetition-000.safetensors", model / "repetition-001.safetensors")
    with pytest.raises(ModelCorrupt, match="its repetition differs"):
        load(model, allow_partial=True)


def test_another_plan_is_refused_and_named(model: Path) -> None:
    data = made_up()
    job = job_of(data, epochs=4)
    with pytest.raises(PlanMismatch, match="epochs: 4 here, 1 there"):
        ModelStore(model).begin(job.plan, data.label_counts(), None, job.scaler)


def test_a_folder_with_other_things_is_refused(tmp_path: Path, small_data: Dataset) -> None:
    (tmp_path / "thesis.tex").write_text("years of work")
    job = job_of(small_data)
    with pytest.raises(PlanMismatch, match="not a model folder"):
        ModelStore(tmp_path).begin(job.plan, small_data.label_counts(), None, job.scaler)


def test_a_folder_with_only_what_an_older_version_left_counts_as_empty(tmp_path: Path, small_data: Dataset) -> None:
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    left = tmp_path / f".plan.json.{uuid.getnode():x}-{process.pid}-{uuid.uuid4().hex}.part"
    left.write_text("half a plan")
    job = job_of(small_data)
    ModelStore(tmp_path).begin(job.plan, small_data.label_counts(), None, job.scaler)
    assert (tmp_path / "plan.json").exists()
    assert not left.exists()


def test_a_second_put_changes_nothing(model: Path) -> None:
    store, before = ModelStore(model), (model / "repetition-000.safetensors").read_bytes()
    store.put(0, store.model(1), [])
    assert (model / "repetition-000.safetensors").read_bytes() == before


def test_models_that_are_no_plain_arrays_are_refused(model: Path) -> None:
    class Forest:
        kind = "forest"
        n_features = n_buckets = 3

        def probabilities(self, rows: Rows) -> FloatArray:
            raise AssertionError

        def arrays(self) -> dict[str, FloatArray]:
            return {}

    with pytest.raises(NotStorable, match="forest"):
        ModelStore(model).put(0, Forest(), [])


@pytest.mark.parametrize("names", [["a\ud800", "b"], np.array(["a\ud800", "b"])], ids=["list", "array"])
def test_names_that_are_no_text_are_refused(tmp_path: Path, names: object) -> None:
    with pytest.raises(NotStorable, match="half of a surrogate pair"):
        write_names(tmp_path / "labels.arrow", names)  # type: ignore[arg-type]
    assert not (tmp_path / "labels.arrow").exists()


def test_two_plans_cannot_begin_in_one_folder(tmp_path: Path, small_data: Dataset) -> None:
    """However their writes interleave: the second to come finds the first one's plan."""
    jobs = [job_of(small_data, epochs) for epochs in (1, 2)]
    store = ModelStore(tmp_path / "m")
    outcomes = []
    with ThreadPoolExecutor(8) as pool:
        for job in jobs * 4:
            outcomes.append(pool.submit(store.begin, job.plan, small_data.label_counts(), None, job.scaler))
    refused = [isinstance(outcome.exception(), PlanMismatch) for outcome in outcomes]
    assert sum(refused) == 4
    assert refused[0] != refused[1]


def test_several_jobs_may_finish_at_once(model: Path) -> None:
    before = (model / "manifest.json").read_bytes()
    with ThreadPoolExecutor(4) as pool:
        finished = [
            pool.submit(ModelStore(model).finish, "log", 0.5, {"validation precision@1 log": 0.25}) for _ in range(40)
        ]
    assert [job.exception() for job in finished] == [None] * 40
    assert (model / "manifest.json").read_bytes() == before


KILLED_WHILE_WRITING = """
import os, signal, sys
from pathlib import Path
import numpy as np
from xmach.store import tensors
def save_file(arrays, path, metadata):  # as safetensors does it: a temporary file of its own, beside what it writes
    (Path(path).parent / ".tmpAbCdEf").write_bytes(b"half")
    os.kill(os.getpid(), signal.SIGKILL)
tensors.save_file = save_file
tensors.write_tensors(Path(sys.argv[1]), {"a": np.zeros(3, np.float32)}, {})
"""


def test_what_safetensors_had_written_when_it_was_killed_is_removed(model: Path) -> None:
    path = model / "progress" / "repetition-000.safetensors"
    ended = subprocess.run([sys.executable, "-c", KILLED_WHILE_WRITING, str(path)], check=False)
    assert ended.returncode == -signal.SIGKILL
    assert {left.name for left in path.parent.rglob("*") if left.is_file()} == {"new", ".tmpAbCdEf"}
    remove_abandoned(model, deep=True)
    assert list(path.parent.iterdir()) == []


def test_an_interrupted_replacement_keeps_the_old_model(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def exchange(one: Path, other: Path) -> bool:
        raise KeyboardInterrupt("Ctrl-C")

    monkeypatch.setattr(renaming, "exchange", exchange)
    with pytest.raises(KeyboardInterrupt, match="Ctrl-C"), replacing(model, overwrite=True) as store:
        shutil.copytree(model, store.folder, dirs_exist_ok=True)
    load(model)
    assert [path.name for path in model.parent.iterdir()] == ["model"]


KILLED_WHILE_REPLACING = """
import os, signal, sys
from pathlib import Path
from xmach.files import renaming
from xmach.store import replacing
renaming.exchange = lambda one, other: False  # as where the file system cannot do it
rename, renames = os.rename, []
def killed(source, target):
    renames.append(target)
    if len(renames) == 3:  # onto the old model, which fails; the old one aside; and now the new one
        os.kill(os.getpid(), signal.SIGKILL)
    rename(source, target)
os.rename = killed
with replacing(Path(sys.argv[1]), overwrite=True) as store:
    (store.folder / "plan.json").write_text("another")
"""


def test_a_model_that_a_killed_save_had_moved_aside_is_found(model: Path) -> None:
    ended = subprocess.run([sys.executable, "-c", KILLED_WHILE_REPLACING, str(model)], check=False)
    assert ended.returncode == -signal.SIGKILL
    assert not model.exists()
    load(model)
    assert [path.name for path in model.parent.iterdir()] == ["model"]


def test_a_model_that_a_killed_save_had_moved_aside_is_found_through_a_link(model: Path, tmp_path: Path) -> None:
    (tmp_path / "links").mkdir()
    link = tmp_path / "links" / "current"
    link.symlink_to(model)
    ended = subprocess.run([sys.executable, "-c", KILLED_WHILE_REPLACING, str(link)], check=False)
    assert ended.returncode == -signal.SIGKILL
    assert not model.exists()
    load(link)
    assert [path.name for path in link.parent.iterdir()] == ["current"]


@pytest.mark.parametrize("overwrite", [True, False])
def test_a_model_is_saved_in_the_working_directory(
    model: Path, finished: Path, overwrite: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not overwrite:
        shutil.rmtree(model)
        model.mkdir()
    monkeypatch.chdir(model)
    with replacing(Path("."), overwrite) as store:
        shutil.copytree(finished, store.folder, dirs_exist_ok=True)
    load(".")
    load(model)


@pytest.mark.skipif(not os.path.ismount("/dev"), reason="needs a mount point")
def test_a_mount_point_is_refused_before_anything_is_written(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir("/dev")
    for folder in ("/dev", "."):
        with (
            pytest.raises(PlanMismatch, match="mount point cannot be replaced; save into a folder inside it"),
            replacing(Path(folder), overwrite=False),
        ):
            pytest.fail("nothing should be written")


def test_a_model_is_saved_through_a_link_to_an_empty_folder(finished: Path, tmp_path: Path) -> None:
    (tmp_path / "model").mkdir()
    (tmp_path / "link").symlink_to("model")
    with replacing(tmp_path / "link", overwrite=False) as store:
        shutil.copytree(finished, store.folder, dirs_exist_ok=True)
    assert (tmp_path / "link").is_symlink()
    load(tmp_path / "model")


def test_a_model_saved_by_another_process_in_the_meantime_is_kept(finished: Path, tmp_path: Path) -> None:
    def save_twice(folder: Path) -> None:
        with replacing(folder, overwrite=False) as store:
            shutil.copytree(finished, store.folder, dirs_exist_ok=True)
            shutil.copytree(finished, folder)

    with pytest.raises(PlanMismatch, match="another process has written here in the meantime"):
        save_twice(tmp_path / "model")
    load(tmp_path / "model")
    assert [path.name for path in tmp_path.iterdir()] == ["model"]


def test_files_can_be_read_by_others(model: Path) -> None:
    mask = os.umask(0o022)
    os.umask(mask)
    assert {oct(path.stat().st_mode & 0o777) for path in model.iterdir() if path.is_file()} == {oct(0o666 & ~mask)}


@pytest.mark.parametrize("content", ['{"format": 1}', "[]", "{", '{"files": {}}'])
def test_a_damaged_manifest_is_said(model: Path, content: str) -> None:
    (model / "manifest.json").write_text(content)
    with pytest.raises(ModelCorrupt, match=r"manifest\.json"):
        load(model)


@pytest.mark.parametrize("folder", sorted(GOLDEN.iterdir()), ids=lambda folder: folder.name)
def test_every_old_format_loads_and_answers_as_then(folder: Path) -> None:
    """Models written by every format version so far; never rewrite these files."""
    expected = json.loads((folder / "answers.json").read_text())
    asked = expected["texts"] if "texts" in expected else np.array(expected["rows"], np.float32)
    best = load(folder / "model").top_k(asked, 3)
    assert best.labels.tolist() == expected["labels"]
    # scores are logarithms: of a probability near 1 the last bit is 6e-8
    np.testing.assert_allclose(best.scores, expected["scores"], rtol=1e-5, atol=1e-6)
