"""check_file: what is in a file, and all that is wrong with it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from xmach.data import check_file, read_dataset
from xmach.data.labels.tally import Tally
from xmach.data.read.report import MAX_FAULTS
from xmach.errors import DataFileError, DataFileMissing

WriteFile = Callable[..., Path]


def test_a_good_file(write: WriteFile) -> None:
    report = check_file(write("5 10 20\n0,1 0:1 3:2\n0 1:0.5\n0,2\n 3:1\n0,1 1:1\n"))
    assert report.ok
    assert (report.rows, report.features, report.labels, report.nonzeros) == (5, 10, 20, 5)
    assert (report.labels_per_row_mean, report.labels_per_row_max) == (7 / 5, 2)
    assert (report.rows_without_labels, report.rows_without_features) == (1, 1)
    assert (report.labels_without_rows, report.labels_with_one_row) == (17, 1)
    assert (report.rows_per_label_median, report.rows_per_label_max) == (2, 4)
    assert (report.head_1_percent, report.head_10_percent) == (pytest.approx(4 / 7), pytest.approx(6 / 7))
    assert report.labels_for_half == 1
    assert report.lines()[-1] == "no faults"


def test_every_fault_is_told(write: WriteFile) -> None:
    path = write("4 10 5\n0 1:x\n1 1:1\n\n9 1:1\n0 1:1\n3 2:2\n")
    report = check_file(path)
    assert [fault.line for fault in report.faults] == [2, 4, 5, 7]
    assert report.faults_by_reason == {
        "bad value": 1,
        "blank line inside the data": 1,
        "label too large": 1,
        "wrong number of rows": 1,
    }
    assert (report.rows, report.bad_rows) == (3, 3)
    assert f"{path}:5: label 9: the header says 5 labels, so the last is 4 (column 1)" in report.lines()
    assert json.loads(json.dumps(report.to_dict()))["faults"][0]["line"] == 2


def test_a_bad_header_does_not_end_the_check(write: WriteFile) -> None:
    report = check_file(write("a b c\n0 1:1\n0 1:x\n"), "xmc")
    assert [fault.line for fault in report.faults] == [1, 3]
    assert (report.rows, report.features, report.labels) == (1, 0, 1)


def test_many_faults_are_counted(write: WriteFile) -> None:
    n = MAX_FAULTS + 500
    report = check_file(write(f"{n} 10 5\n" + "0 1:x\n" * n))
    assert len(report.faults) == MAX_FAULTS
    assert report.faults_by_reason == {"bad value": n}
    assert "and 500 faults more" in report.lines()


def test_files_that_cannot_be_read_through(write: WriteFile, tmp_path: Path) -> None:
    report = check_file(write("a b c\n"))
    assert (report.format, report.ok, report.faults[0].line) == ("unknown", False, 1)
    with pytest.raises(DataFileMissing, match="there is no such file"):
        check_file(tmp_path / "nothing.txt")
    with pytest.raises(DataFileError, match="this is a folder"):
        check_file(tmp_path)


def test_a_file_without_rows_has_no_distribution(write: WriteFile) -> None:
    assert [
        line for line in check_file(write("a b c\n")).lines() if line.startswith(("head", "labels per", "rows"))
    ] == []
    lines = check_file(write(" 1:1\n", "bare.svm"), "svmlight").lines()
    assert "rows without labels: 1; without features: 0" in lines
    assert not any(line.startswith("head") for line in lines)


def test_one_of_a_thing_is_singular(write: WriteFile) -> None:
    lines = check_file(write("1 1 1\n0 0:1\n")).lines()
    assert lines[1] == "1 row, 1 feature, 1 label, 1 nonzero"
    assert lines[-2].endswith(", 1 label has half")
    two = check_file(write("2 2 2\n0 0:1\n1 0:1 1:1\n")).lines()
    assert two[1] == "2 rows, 2 features, 2 labels, 3 nonzeros"
    n = MAX_FAULTS + 1
    assert "and 1 fault more" in check_file(write(f"{n} 10 5\n" + "0 1:x\n" * n)).lines()


def test_it_counts_what_the_reader_reads(shared_data: Path) -> None:
    path = shared_data / "citeulike_t" / "test.txt.gz"
    report, dataset = check_file(path), read_dataset(path)
    counts = dataset.label_counts().dense()
    assert report.gzip
    assert (report.rows, report.nonzeros) == (dataset.n_rows, dataset.features.nnz)
    assert report.labels_without_rows == np.count_nonzero(counts == 0)
    assert report.rows_per_label_median == np.median(counts[counts > 0])


def test_a_label_of_any_size_takes_no_memory(write: WriteFile) -> None:
    report = check_file(write("1 2147483647 2147483647\n2147483646 2147483646:1\n"))
    assert (report.ok, report.labels_without_rows) == (True, 2147483646)


def test_tally_counts_over_many_merges() -> None:
    numbers = np.random.default_rng(0).integers(-(2**40), 2**40, 300_000)
    numbers[::3] = 7
    tally = Tally()
    for part in np.array_split(numbers, 10):
        tally.add(part)
    distinct, counts = np.unique(numbers, return_counts=True)
    np.testing.assert_array_equal(tally.result()[0], distinct)
    np.testing.assert_array_equal(tally.result()[1], counts)
