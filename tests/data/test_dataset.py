"""Dataset: saving, memory-mapping, pickling, taking rows."""

from __future__ import annotations

import json
import pickle
from pathlib import Path

import numpy as np
import pytest

from xmach.data import Dataset
from xmach.errors import DataFileError, DataFileMissing, InputError
from xmach.types import SparseRows

FEATURES = SparseRows(
    np.array([0, 2, 2, 3]), np.array([1, 4, 0], np.int32), np.array([0.5, 2, -1], np.float32), n_columns=6
)
LABELS = SparseRows(np.array([0, 1, 2, 3]), np.array([2, 0, 2], np.int32), np.array([1, 3, 1], np.float32), n_columns=4)
NAMES = ("ä", "", "c\n", "d")


@pytest.fixture(params=["sparse", "dense", "bare"])
def dataset(request: pytest.FixtureRequest) -> Dataset:
    if request.param == "bare":
        return Dataset(FEATURES, LABELS)
    features = FEATURES if request.param == "sparse" else np.arange(6, dtype=np.float32).reshape(3, 2)
    return Dataset(features, LABELS, NAMES, np.array([1, 2, 0.5], np.float32), skipped={"no colon": 2})


def assert_same(one: Dataset, other: Dataset) -> None:
    assert one.fingerprint == other.fingerprint
    assert (one.n_rows, one.n_features, one.n_labels) == (other.n_rows, other.n_features, other.n_labels)
    for (name, array), theirs in zip(one.arrays().items(), other.arrays().values(), strict=True):
        np.testing.assert_array_equal(array, theirs, err_msg=name)
    assert (one.label_names is None) == (other.label_names is None)
    assert tuple(one.label_names or ()) == tuple(other.label_names or ())


def test_saved_and_opened_is_the_same(dataset: Dataset, tmp_path: Path) -> None:
    saved = dataset.save(tmp_path / "saved")
    assert_same(dataset, saved)
    assert saved.folder == (tmp_path / "saved").absolute()
    assert saved.skipped == dataset.skipped
    loaded = Dataset.open(tmp_path / "saved", in_memory=True)
    assert_same(dataset, loaded)
    assert loaded.folder is None
    assert sorted(path.name for path in tmp_path.iterdir()) == ["saved"]


def test_the_stored_fingerprint_is_that_of_the_arrays(dataset: Dataset, tmp_path: Path) -> None:
    saved = dataset.save(tmp_path / "saved")
    again = Dataset(saved.features, saved.labels, saved.label_names, saved.weights)
    assert again.fingerprint == saved.fingerprint


def test_arrays_stay_in_their_files(tmp_path: Path) -> None:
    saved = Dataset(FEATURES, LABELS, NAMES).save(tmp_path / "saved")
    arrays = [saved.features.indptr, saved.features.values, saved.labels.indices]
    assert all(type(array) is np.ndarray and isinstance(array.base, np.memmap) for array in arrays)
    assert not saved.features.values.flags.writeable
    assert saved.label_names[2] == "c\n"
    assert saved.label_names[1:3] == ["", "c\n"]


def test_pickles(dataset: Dataset, tmp_path: Path) -> None:
    assert_same(dataset, pickle.loads(pickle.dumps(dataset)))
    saved = dataset.save(tmp_path / "saved")
    pickled = pickle.dumps(saved)
    assert len(pickled) < 300 + len(str(tmp_path))
    assert_same(dataset, pickle.loads(pickled))
    assert_same(saved.slice(1, 3), pickle.loads(pickle.dumps(saved.slice(1, 3))))


def test_saving_twice(dataset: Dataset, tmp_path: Path) -> None:
    dataset.save(tmp_path / "saved")
    assert_same(dataset, dataset.save(tmp_path / "saved"))
    with pytest.raises(DataFileError, match="something else is there already"):
        dataset.slice(0, 2).save(tmp_path / "saved")
    (tmp_path / "file").write_text("mine")
    with pytest.raises(DataFileError, match="something else is there already"):
        dataset.save(tmp_path / "file")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "saved"]


def test_take_and_slice(dataset: Dataset) -> None:
    assert_same(dataset.take(np.array([1, 2])), dataset.slice(1, 3))
    assert dataset.take(np.array([2, 0, 0])).n_rows == 3
    assert dataset.slice(0, 0).n_rows == 0


def test_empty_datasets_are_saved_too(dataset: Dataset, tmp_path: Path) -> None:
    assert_same(dataset.slice(0, 0), dataset.slice(0, 0).save(tmp_path / "saved"))


def test_counts(dataset: Dataset) -> None:
    assert dataset.label_counts().dense().tolist() == [1, 0, 2, 0]
    assert dataset.is_multiclass


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"labels": LABELS.slice(0, 2)}, "features have 3 rows but labels have 2"),
        ({"weights": np.ones(2, np.float32)}, "features have 3 rows but there are 2 weights"),
        ({"label_names": ("a", "b")}, "4 labels but 2 label names"),
    ],
)
def test_parts_must_fit(change: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        Dataset(**{"features": FEATURES, "labels": LABELS, **change})


def test_folders_that_cannot_be_opened(dataset: Dataset, tmp_path: Path) -> None:
    with pytest.raises(DataFileMissing, match="no saved dataset here"):
        Dataset.open(tmp_path)
    folder = dataset.save(tmp_path / "saved").folder
    (folder / "labels-values.npy").write_bytes((folder / "labels-values.npy").read_bytes()[:-4])
    with pytest.raises(DataFileError, match="the saved dataset is damaged"):
        Dataset.open(folder)
    (folder / "meta.json").write_text(json.dumps({"format": 99}))
    with pytest.raises(DataFileError, match="saved in format 99; this version reads format 1"):
        Dataset.open(folder)
    (folder / "meta.json").write_text("[]")
    with pytest.raises(DataFileError, match="not the meta file"):
        Dataset.open(folder)
