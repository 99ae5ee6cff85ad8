"""The svmlight reader, judged by scikit-learn's."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_svmlight_file

from xmach.data import Dataset, check_file, guess_format, read_dataset
from xmach.errors import DataFileError

WriteFile = Callable[..., Path]
row = st.tuples(
    st.lists(st.integers(-3, 30), min_size=1, max_size=4, unique=True),
    st.dictionaries(st.integers(0, 50), st.floats(-1e6, 1e6, width=32), min_size=1, max_size=5),
)


def csr(dataset: Dataset) -> sp.csr_matrix:
    rows = dataset.features
    return sp.csr_matrix((rows.values, rows.indices, rows.indptr), shape=rows.shape)


def labels_of(dataset: Dataset) -> list[tuple[int, ...]]:
    names = dataset.label_names
    return [tuple(sorted(int(names[i]) for i in dataset.labels.row(r)[0])) for r in range(dataset.n_rows)]


@settings(deadline=None)  # the first call compiles
@given(rows=st.lists(row, min_size=1, max_size=8), multilabel=st.booleans())
def test_reads_as_scikit_learn_does(rows, multilabel: bool, tmp_path_factory: pytest.TempPathFactory) -> None:
    lines = []
    for labels, features in rows:
        kept = labels if multilabel else labels[:1]
        values = [f"{index}:{np.float32(features[index])!s}" for index in sorted(features)]
        lines.append(" ".join([",".join(map(str, kept)), *values]))
    path = tmp_path_factory.mktemp("svmlight") / "rows.txt"
    path.write_text("\n".join(lines) + "\n")
    X, y = load_svmlight_file(io.BytesIO(path.read_bytes()), multilabel=multilabel, zero_based=True)
    dataset = read_dataset(path, "svmlight")
    np.testing.assert_array_equal(csr(dataset).toarray(), X.toarray().astype(np.float32))
    expected = [tuple(sorted(map(int, labels))) for labels in (y if multilabel else y[:, None])]
    assert labels_of(dataset) == expected


def test_labels_are_integers_however_written(write: WriteFile) -> None:
    dataset = read_dataset(write("+1 3:1\n-1 1:2\n1.0 2:1\n10.000 1:1\n-1 0:1 # note\n"))
    assert dataset.label_names == ("-1", "1", "10")
    assert dataset.labels.indices.tolist() == [1, 0, 1, 2, 0]
    assert dataset.is_multiclass
    assert dataset.n_features == 4


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("1.5 1:1", r":2: '1.5' is not a label; expected an integer \(a regression target\?\)"),
        ("1e3 1:1", "a regression target"),
        ("cat 1:1", "'cat' is not a label"),
        ("1 qid:3 1:1", "query ids are for ranking"),
        ("99999999999999999999 1:1", "does not fit in 64 bits"),
        ("1 2147483647:1", "feature index 2147483647: at most"),
        ("1 3:1 3:2", "feature 3 is given twice"),
        ("\n1 3:1", ":2: a blank line inside the data"),
    ],
)
def test_bad_rows(write: WriteFile, line: str, message: str) -> None:
    with pytest.raises(DataFileError, match=message):
        read_dataset(write(f"1 1:1\n{line}\n"), "svmlight")


@pytest.mark.parametrize("content", ["", "# only a note\n", "\n\n"])
def test_a_file_without_rows(write: WriteFile, content: str) -> None:
    with pytest.raises(DataFileError, match=":1: empty file"):
        read_dataset(write(content), "svmlight")


def test_the_width_of_the_model_binds(write: WriteFile) -> None:
    path = write("1 1:1\n2 7:1\n")
    assert read_dataset(path, n_features=20).n_features == 20
    with pytest.raises(DataFileError, match=":2: feature index 7: 5 features are expected"):
        read_dataset(path, n_features=5)


def test_labels_follow_the_model_and_others_come_after(write: WriteFile) -> None:
    path = write("7,3 1:1\n12 1:1\n-5,3 1:1\n")
    dataset = read_dataset(path, label_names=["7", "some text", "3"])
    assert dataset.label_names == ("7", "some text", "3", "-5", "12")
    assert [dataset.labels.row(r)[0].tolist() for r in range(3)] == [[0, 2], [4], [2, 3]]
    numbered = read_dataset(path, n_labels=8)
    assert [numbered.labels.row(r)[0].tolist() for r in range(3)] == [[3, 7], [9], [3, 8]]
    assert numbered.label_names[7:] == ("7", "-5", "12")
    assert read_dataset(path, n_labels=13, on_error="skip").n_labels == 14
    assert read_dataset(write("7,3 1:1\n"), n_labels=13).label_names is None


def test_a_header_is_the_sign_of_another_format(write: WriteFile) -> None:
    path = write("# made by hand\n1 10 5\n1 1:1\n")
    with pytest.raises(DataFileError, match=":2: '1 10 5' looks like the header 'N D K' of the format 'xmc'"):
        read_dataset(path, "svmlight", on_error="skip")
    assert check_file(path, "svmlight").faults[0].reason == "bad header"


def test_rows_without_features_do_not_hide_the_format(write: WriteFile) -> None:
    path = write("3\n1,4\n+1.0 2:0.5\n")
    assert guess_format(path) == "svmlight"
    assert read_dataset(path).features.indptr.tolist() == [0, 0, 0, 1]
    with pytest.raises(DataFileError, match=":1: cannot tell the format from '3'"):
        guess_format(write("3\n4\n"))


@pytest.mark.parametrize("spelling", ["{}.0", "{}.000", "+{}", "{} # note", "{}\r"])
def test_spellings_of_whole_files_read_the_same(write: WriteFile, spelling: str) -> None:
    rows = [f"{i % 7} {i % 5}:0.25 9:{i}" for i in range(2000)]
    head, tail = ("{}", spelling) if spelling.startswith("{} ") or spelling.endswith("\r") else (spelling, "{}")
    written = [f"{head.format(i % 7)} {i % 5}:0.25 {tail.format(f'9:{i}')}" for i in range(2000)]
    expected = read_dataset(write("\n".join(rows)), "svmlight").fingerprint
    assert read_dataset(write("\n".join(written)), "svmlight").fingerprint == expected
