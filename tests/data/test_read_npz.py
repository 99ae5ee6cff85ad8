"""SciPy's .npz files as features and labels, as strict as arrays."""

from __future__ import annotations

import gzip
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from xmach.data import check_file, guess_format, read_dataset
from xmach.errors import DataFileError, DataFileMissing

X = sp.csr_matrix(np.array([[0, 1.5, 0], [2, 0, -3], [0, 0, 0], [1, 1, 1]], np.float64))
Y = sp.csr_matrix(np.array([[1, 0, 0, 0], [0, 0, 1, 1], [0, 1, 0, 0], [0, 0, 0, 0]], np.int64))


@pytest.fixture
def pair(tmp_path: Path) -> Callable[..., Path]:
    def write_pair(x: Any = X, y: Any = Y) -> Path:
        sp.save_npz(tmp_path / "X.trn.npz", x)
        sp.save_npz(tmp_path / "Y.trn.npz", y)
        return tmp_path / "X.trn.npz"

    return write_pair


def raw(path: Path, **arrays: Any) -> None:
    """An .npz file with arrays that SciPy itself would not write."""
    parts = {"format": b"csr", "shape": (4, 3), "data": X.data, "indices": X.indices, "indptr": X.indptr} | arrays
    np.savez(path, **{name: np.asanyarray(part) for name, part in parts.items() if part is not None})


@pytest.mark.parametrize("form", ["csr", "csc", "coo"])
@pytest.mark.parametrize("kind", [sp.csr_matrix, sp.csr_array])
def test_matrices_of_any_form(pair: Callable[..., Path], form: str, kind: Callable[[Any], Any]) -> None:
    path = pair(kind(X).asformat(form), kind(Y).asformat(form))
    assert guess_format(path) == "npz"
    dataset = read_dataset(path)
    rows = dataset.features
    found = sp.csr_matrix((rows.values, rows.indices, rows.indptr), rows.shape)
    np.testing.assert_array_equal(found.toarray(), X.toarray().astype(np.float32))
    assert (dataset.labels.indptr.tolist(), dataset.labels.indices.tolist()) == ([0, 1, 3, 4, 4], [0, 2, 3, 1])
    assert (dataset.n_features, dataset.n_labels, dataset.label_names) == (3, 4, None)


def test_names_counts_and_stored_zeros(pair: Callable[..., Path], tmp_path: Path) -> None:
    counts = Y.astype(np.float64) * 2
    counts[2, 1] = 0  # stays stored
    expected = read_dataset(pair(y=counts))
    assert (expected.labels.indices.tolist(), expected.labels.values.tolist()) == ([0, 2, 3], [2, 2, 2])
    for features, labels in (("trn_X_Xf.npz", "trn_X_Y.npz"), ("a.npz", "b.npz")):
        (tmp_path / "X.trn.npz").rename(tmp_path / features)
        (tmp_path / "Y.trn.npz").rename(tmp_path / labels)
        given = tmp_path / labels if features == "a.npz" else None
        assert read_dataset(tmp_path / features, label_file=given).fingerprint == expected.fingerprint
        pair(y=counts)
    with pytest.raises(DataFileError, match=r"a.npz: the labels are in another file"):
        read_dataset(tmp_path / "a.npz")
    assert read_dataset(tmp_path / "a.npz", with_labels=False, n_labels=9).labels.shape == (4, 9)


def test_more_rows_than_one_batch(pair: Callable[..., Path]) -> None:
    n = 70_000
    eye = sp.csr_matrix((np.ones(n, np.float32), np.arange(n) % 5, np.arange(n + 1)), (n, 5))
    seen: list[tuple[int, int]] = []
    dataset = read_dataset(pair(eye, eye), on_progress=lambda done, total: seen.append((done, total)))
    np.testing.assert_array_equal(dataset.features.indices, eye.indices)
    assert seen[-1][0] == seen[-1][1]


def test_gzip_around_them_is_told(pair: Callable[..., Path], tmp_path: Path) -> None:
    path, labels = pair(), tmp_path / "Y.trn.npz"
    labels.write_bytes(gzip.compress(labels.read_bytes()))
    with pytest.raises(DataFileError, match=r"Y.trn.npz: gzip'd, but npz is already compressed: unzip the file first"):
        read_dataset(path)
    path.write_bytes(gzip.compress(path.read_bytes()))
    for name in ("auto", "npz"):
        with pytest.raises(DataFileError, match=r"X.trn.npz: gzip'd, but npz is already compressed"):
            read_dataset(path, name)


def test_sizes_must_fit(pair: Callable[..., Path]) -> None:
    with pytest.raises(DataFileError, match=r"Y.trn.npz: 3 rows, but .*X.trn.npz has 4"):
        read_dataset(pair(y=Y[:3]))
    with pytest.raises(DataFileError, match=r"X.trn.npz: 3 features, but 5 are expected"):
        read_dataset(pair(), n_features=5)
    with pytest.raises(DataFileError, match=r"Y.trn.npz: 4 labels, but 5 are expected"):
        read_dataset(pair(), n_labels=5)


@pytest.mark.parametrize(
    ("which", "value", "reason", "message"),
    [
        ("x", np.nan, "value not finite", r"X.trn.npz: nan at row 1, column 2"),
        ("x", np.inf, "value not finite", r"X.trn.npz: inf at row 1, column 2"),
        ("x", 1e39, "value not finite", r"X.trn.npz: 1e\+39 at row 1, column 2"),
        ("y", -1.0, "label value below 0", r"Y.trn.npz: -1 at row 1, column 2"),
        ("y", np.nan, "value not finite", r"Y.trn.npz: nan at row 1, column 2"),
    ],
)
def test_bad_values(pair: Callable[..., Path], which: str, value: float, reason: str, message: str) -> None:
    matrix = (X if which == "x" else Y).astype(np.float64)
    matrix[1, 2] = value
    path = pair(**{which: matrix})
    with pytest.raises(DataFileError, match=message):
        read_dataset(path)
    dataset = read_dataset(path, on_error="skip")
    assert (dataset.n_rows, dataset.skipped) == (3, {reason: 1})
    assert dataset.features.indices.tolist() == [1, 0, 1, 2]
    assert dataset.labels.indices.tolist() == [0, 1]
    assert [fault.reason for fault in check_file(path).faults] == [reason]


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"indices": np.array([1, 0, -2, 0, 1, 2])}, "index -2 in row 1|negative"),
        ({"indices": np.array([1, 0, 7, 0, 1, 2])}, "index 7 in row 1|indices must be < 3"),
        ({"indptr": np.array([0, 3, 1, 3, 6])}, "indptr decreases after entry 1"),
        ({"indptr": np.array([0, 1, 3, 3, 60])}, "[Ii]ndptr ends at 60|[Ii]ndex pointer|index and data"),
        ({"indptr": np.array([0, 1, 3, 6])}, "[Ii]ndex pointer|indptr must have"),
        ({"indptr": np.array([1, 1, 3, 3, 6])}, "[Ii]ndex pointer|begin with 0"),
        ({"shape": np.array([4, -3])}, "no valid sparse matrix"),
        ({"shape": np.array([4])}, "no valid sparse matrix"),
        ({"data": np.array(list("abcdef"))}, "must hold numbers|no valid sparse matrix"),
        ({"data": X.data.astype(complex)}, "must hold numbers"),
        ({"data": X.data.astype(object)}, r"no valid sparse matrix: Object arrays cannot be loaded"),
        ({"format": b"xyz"}, "no valid sparse matrix"),
        ({"indices": None}, "no valid sparse matrix"),
        ({"data": None}, r"not a sparse matrix, but format.npy, indices.npy"),
    ],
)
def test_contradictions_are_no_crash(pair: Callable[..., Path], arrays: dict[str, Any], message: str) -> None:
    path = pair()
    raw(path, **arrays)
    for on_error in ("stop", "skip"):
        with pytest.raises(DataFileError, match=rf"X.trn.npz: .*({message})"):
            read_dataset(path, on_error=on_error)
    assert not check_file(path).ok


def test_files_that_are_no_matrices(pair: Callable[..., Path], tmp_path: Path) -> None:
    path = pair()
    whole = path.read_bytes()
    for damaged in (whole[: len(whole) // 2], whole[:100] + b"\0" * 50 + whole[150:]):
        path.write_bytes(damaged)
        with pytest.raises(DataFileError, match=r"X.trn.npz: the npz file (is damaged|holds no valid)"):
            read_dataset(path)
        assert not check_file(path).ok
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("notes.txt", "nothing here")
    with pytest.raises(
        DataFileError, match=r"not a sparse matrix, but notes.txt; expected a file of scipy.sparse.save_npz"
    ):
        read_dataset(path)
    path.write_text("1 2\n")
    with pytest.raises(DataFileError, match="the npz file is damaged"):
        read_dataset(path, "npz")
    path.unlink()
    with pytest.raises(DataFileMissing, match="there is no such file"):
        read_dataset(path, "npz")
