"""The XMC reader and writer on good files."""

from __future__ import annotations

import gzip
import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from xmach.data import Dataset, guess_format, read_dataset, write_xmc
from xmach.errors import DataFileError, DataFileMissing, InputError, ParameterError
from xmach.types import SparseRows

WriteFile = Callable[..., Path]
finite = st.floats(width=32, allow_nan=False, allow_infinity=False)
row = st.tuples(st.sets(st.integers(0, 8)), st.dictionaries(st.integers(0, 30), finite)).filter(any)


def sparse(rows: list[dict[int, float]], n_columns: int) -> SparseRows:
    indptr = np.cumsum([0, *map(len, rows)], dtype=np.int64)
    indices = np.array([column for row in rows for column in sorted(row)], np.int32)
    values = np.array([row[column] for row in rows for column in sorted(row)], np.float32)
    return SparseRows(indptr, indices, values, n_columns)


@pytest.mark.parametrize(
    ("file", "shape", "labels_per_row"),
    [
        ("bibtex/train", (4880, 1836, 159), 2.4),
        ("bibtex/test", (2515, 1836, 159), 2.4),
        ("delicious/train", (12920, 500, 983), 19.0),
        ("citeulike_t/train", (20756, 20000, 52946), 11.2),
        ("citeulike_t/test", (5188, 20000, 52946), 11.2),
    ],
)
def test_real_files(shared_data: Path, file: str, shape: tuple[int, int, int], labels_per_row: float) -> None:
    dataset = read_dataset(shared_data / f"{file}.txt.gz")
    assert (dataset.n_rows, dataset.n_features, dataset.n_labels) == shape
    assert dataset.labels.nnz / dataset.n_rows == pytest.approx(labels_per_row, abs=0.1)
    assert not dataset.is_multiclass
    if file == "citeulike_t/train":
        assert np.count_nonzero(dataset.label_counts().dense()) == 46_316


def test_rows_are_sorted_and_labels_counted_once(write: WriteFile) -> None:
    dataset = read_dataset(write("3 10 5\n4,1,4 7:2 3:-1.5\n 0:0\n2\n"))
    np.testing.assert_array_equal(dataset.features.indptr, [0, 2, 3, 3])
    np.testing.assert_array_equal(dataset.features.indices, [3, 7, 0])
    np.testing.assert_array_equal(dataset.features.values, np.array([-1.5, 2, 0], np.float32))
    np.testing.assert_array_equal(dataset.labels.indptr, [0, 2, 2, 3])
    np.testing.assert_array_equal(dataset.labels.indices, [1, 4, 2])
    np.testing.assert_array_equal(dataset.labels.values, np.ones(3, np.float32))


@settings(deadline=None)  # the first call compiles
@given(rows=st.lists(row, max_size=8))
def test_what_is_written_reads_back(rows: list[tuple[set[int], dict[int, float]]], tmp_path_factory) -> None:
    features = sparse([features for _, features in rows], 31)
    labels = sparse([dict.fromkeys(labels, 1.0) for labels, _ in rows], 9)
    dataset = Dataset(features, labels)
    path = tmp_path_factory.mktemp("written") / "rows.txt"
    write_xmc(dataset, path)
    assert read_dataset(path).fingerprint == dataset.fingerprint


def test_the_writer_refuses_what_the_format_cannot_hold(tmp_path: Path) -> None:
    one = sparse([{0: 1.0}], 3)
    with pytest.raises(InputError, match="dense"):
        write_xmc(Dataset(np.ones((1, 2), np.float32), one), tmp_path / "rows.txt")
    with pytest.raises(InputError, match="row 0 has neither labels nor features"):
        write_xmc(Dataset(sparse([{}], 3), sparse([{}], 3)), tmp_path / "rows.txt")
    with pytest.raises(InputError, match="counts or weights"):
        write_xmc(Dataset(one, sparse([{0: 2.0}], 3)), tmp_path / "rows.txt")


def test_comment_lines_and_no_rows(write: WriteFile) -> None:
    commented = read_dataset(write("# made by hand\n2 3 3\n1 1:1\n# half way\n2 2:1\n"))
    assert commented.fingerprint == read_dataset(write("2 3 3\n1 1:1\n2 2:1\n")).fingerprint
    empty = read_dataset(write("0 3 3\n"))
    assert (empty.n_rows, empty.n_features, empty.n_labels, empty.features.nnz) == (0, 3, 3, 0)


def test_sizes_of_the_model_must_fit(write: WriteFile) -> None:
    path = write("1 10 5\n1 1:1\n")
    with pytest.raises(DataFileError, match=":1: the header says 10 features, but 11 are expected"):
        read_dataset(path, n_features=11)
    with pytest.raises(DataFileError, match=":1: the header says 5 labels, but 6 are expected"):
        read_dataset(path, n_labels=6)
    assert read_dataset(path, n_features=10, label_names=list("abcde")).label_names == tuple("abcde")


def test_skipped_rows_count_towards_the_header(write: WriteFile) -> None:
    path = write("4 10 5\n1 1:1\n\nx 1:1\n2 1:1\n")  # the blank line may have been a row
    assert read_dataset(path, on_error="skip").skipped == {"blank line inside the data": 1, "bad label": 1}
    path = write("5 10 5\n1 1:1\nx 1:1\n2 1:1\n")
    with pytest.raises(DataFileError, match=":4: the header says 5 rows, but 3 are there"):
        read_dataset(path, on_error="skip")


def test_the_first_fault_in_the_file_is_told_first(write: WriteFile) -> None:
    with pytest.raises(DataFileError, match=":3: more rows than the header says: 1"):
        read_dataset(write("1 10 5\n1 1:1\n2 1:1\n3 x\n"))


def test_a_row_that_starts_with_a_blank_has_no_labels(write: WriteFile) -> None:
    with pytest.raises(DataFileError, match=r":2: '3' has no colon.*starts with a blank has no labels"):
        read_dataset(write("1 10 5\n 3 1:1\n"))


def test_gzip_cut_off_is_an_error_however_much_was_read(write: WriteFile) -> None:
    text = "100000 10 5\n" + "1 1:0.25 2:1\n" * 100_000
    packed = gzip.compress(text.encode())
    with pytest.raises(DataFileError, match="gzip stream is damaged"):
        read_dataset(write(packed[: len(packed) // 2]), "xmc", on_error="skip")


def test_paths_that_are_no_data_files(tmp_path: Path, write: WriteFile) -> None:
    with pytest.raises(DataFileMissing, match=r"nothing\.txt: there is no such file"):
        read_dataset(tmp_path / "nothing.txt")
    with pytest.raises(DataFileError, match="this is a folder"):
        read_dataset(tmp_path)
    with pytest.raises(ParameterError, match=r"format must be one of auto, xmc, svmlight, .*; got 'arff'"):
        read_dataset(write("1 1 1\n0 0:1\n"), "arff")
    with pytest.raises(ParameterError, match="on_error must be 'stop' or 'skip'"):
        read_dataset(write("1 1 1\n0 0:1\n"), on_error="ignore")


def test_formats_are_told_by_the_first_line(write: WriteFile) -> None:
    assert guess_format(write("# note\n1 2 3\n")) == "xmc"
    assert guess_format(write("1 2\n")) == "split"
    assert guess_format(write("-1 3:1 5:2 # note\n")) == "svmlight"
    assert [guess_format(write(f"{row}\n")) for row in ("3 | 1:0.5", "1,2 0.5 'a|f b", "|f b", "'a | b")] == ["vw"] * 4
    assert guess_format(write(" 3:1\n")) == "svmlight"
    assert guess_format(write("1,4,9 3:1\n")) == "svmlight"
    with pytest.raises(DataFileError, match=r":1: cannot tell the format from 'a,b'.*xmc.*svmlight"):
        guess_format(write("a,b\n"))
    with pytest.raises(DataFileError, match=":1: empty file"):
        guess_format(write(""))


@pytest.mark.skipif(os.geteuid() == 0, reason="root may open every file")
def test_a_file_without_permission(write: WriteFile) -> None:
    path = write("1 1 1\n0 0:1\n")
    path.chmod(0)
    with pytest.raises(DataFileMissing, match="no permission to open it"):
        read_dataset(path)
