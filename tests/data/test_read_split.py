"""The XMC repository's split files: features and labels apart, row beside row."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from xmach.data import Dataset, ReadOptions, check_file, guess_format, read_dataset, write_xmc
from xmach.data.read.label_files import usual_label_file
from xmach.errors import DataFileError, DataFileMissing, ParameterError

WriteFile = Callable[..., Path]
FEATURES = "4 10\n0:1 3:0.5\n\n4:2 1:1 \n9:1\n"
LABELS = "4 5\n0:1 1:1\n2:1.0\n\n4:1 0:1\n"


@pytest.fixture
def pair(write: WriteFile) -> Callable[..., Path]:
    def write_pair(features: str | bytes = FEATURES, labels: str | bytes = LABELS) -> Path:
        write(labels, "trn_X_Y.txt")
        return write(features, "trn_X_Xf.txt")

    return write_pair


def test_both_files_give_one_dataset(pair: Callable[..., Path], write: WriteFile) -> None:
    dataset = read_dataset(pair())
    assert guess_format(pair()) == "split"
    assert (dataset.n_rows, dataset.n_features, dataset.n_labels) == (4, 10, 5)
    assert dataset.features.indptr.tolist() == [0, 2, 2, 4, 5]
    assert dataset.features.indices.tolist() == [0, 3, 1, 4, 9]
    assert dataset.labels.indptr.tolist() == [0, 2, 3, 3, 5]
    assert dataset.labels.indices.tolist() == [0, 1, 2, 0, 4]
    assert (dataset.labels.values == 1).all()
    joined = read_dataset(write("4 10 5\n0,1 0:1 3:0.5\n2\n 4:2 1:1\n4,0 9:1\n"))
    assert dataset.fingerprint == joined.fingerprint


def test_a_real_set_in_both_forms(shared_data: Path, tmp_path: Path) -> None:
    path = shared_data / "bibtex" / "test.txt.gz"
    whole = read_dataset(path)
    header, *lines = gzip.decompress(path.read_bytes()).decode().splitlines()
    n, d, k = header.split()
    rows = [line.partition(" ") for line in lines]
    (tmp_path / "tst_X_Xf.txt").write_text(f"{n} {d}\n" + "".join(f"{row[2]}\n" for row in rows))
    ones = [" ".join(f"{label}:1.0" for label in row[0].split(",") if label) for row in rows]
    (tmp_path / "tst_X_Y.txt").write_text(f"{n} {k}\n" + "".join(f"{row}\n" for row in ones))
    assert read_dataset(tmp_path / "tst_X_Xf.txt").fingerprint == whole.fingerprint


def test_long_files_stay_in_step(pair: Callable[..., Path], tmp_path: Path) -> None:
    """The chunks of the two files end at different rows."""
    n, rng = 30_000, np.random.default_rng(0)
    widths, counts = rng.integers(0, 30, n), rng.integers(0, 4, n)
    features = [" ".join(f"{j}:{i % 97}" for j in range(m)) for i, m in enumerate(widths.tolist())]
    labels = [" ".join(f"{(i + j) % 500}:1" for j in range(m)) for i, m in enumerate(counts.tolist())]
    features[20_000], labels[10_000], labels[25_000] = "0:x", "1:y", "1:-1"
    path = pair("\n".join([f"{n} 30", *features, ""]), "\n".join([f"{n} 500", *labels, ""]))
    dataset = read_dataset(path, on_error="skip")
    good = np.delete(np.arange(n), [10_000, 20_000, 25_000])
    assert dataset.skipped == {"bad value": 2, "label value below 0": 1}
    np.testing.assert_array_equal(np.diff(dataset.features.indptr), widths[good])
    np.testing.assert_array_equal(np.diff(dataset.labels.indptr), counts[good])
    for i in (0, 9_999, 10_000, 19_998, 24_996, 24_997, n - 4):
        expected = sorted((int(good[i]) + j) % 500 for j in range(counts[good[i]]))
        assert dataset.labels.row(i)[0].tolist() == expected
        assert set(dataset.features.row(i)[1].tolist()) <= {int(good[i]) % 97}


@pytest.mark.parametrize("change", [lambda text: text.replace("\n", "\r\n"), lambda text: f"{text}\n \n", str.rstrip])
def test_line_ends_and_blank_lines_after_the_last_row(pair: Callable[..., Path], change: Callable[[str], str]) -> None:
    expected = read_dataset(pair()).fingerprint
    assert read_dataset(pair(change(FEATURES), change(LABELS))).fingerprint == expected


def test_label_values_are_counts(pair: Callable[..., Path]) -> None:
    labels = read_dataset(pair(labels="4 5\n0:1 1:2.5\n2:0\n\n4:3 0:1\n")).labels
    assert (labels.indptr.tolist(), labels.indices.tolist()) == ([0, 2, 2, 2, 4], [0, 1, 0, 4])
    assert labels.values.tolist() == [1, 2.5, 1, 3]


def test_where_the_labels_are(pair: Callable[..., Path], write: WriteFile, tmp_path: Path) -> None:
    path = pair()
    expected = read_dataset(path)
    packed = write(gzip.compress(LABELS.encode()), "trn_X_Y.txt.gz")
    (tmp_path / "trn_X_Y.txt").unlink()
    assert usual_label_file(path) == packed
    assert read_dataset(path).fingerprint == expected.fingerprint
    other = write(packed.read_bytes(), "mine")
    packed.unlink()
    assert read_dataset(path, label_file=other).fingerprint == expected.fingerprint
    with pytest.raises(DataFileError, match=r"trn_X_Xf.txt: the labels are in another file, and there is no trn_X_Y"):
        read_dataset(path)
    with pytest.raises(DataFileError, match="its name does not say which"):
        read_dataset(write(FEATURES, "rows.txt"))
    with pytest.raises(DataFileMissing, match=r"nowhere: there is no such file"):
        read_dataset(path, label_file=tmp_path / "nowhere")
    with pytest.raises(ParameterError, match="label_file is for the formats split and npz; this one is xmc"):
        read_dataset(write("1 1 1\n0 0:1\n", "xmc.txt"), label_file=other)


def test_a_changed_label_file_is_read_anew(pair: Callable[..., Path], tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    first = read_dataset(pair(), cache=cache)
    second = read_dataset(pair(labels=LABELS.replace("2:1.0", "3:1.00")), cache=cache)
    assert first.fingerprint != second.fingerprint


def test_rows_to_be_answered_need_no_labels(write: WriteFile) -> None:
    dataset = read_dataset(write(FEATURES), with_labels=False, n_features=10, n_labels=7)
    assert (dataset.n_rows, dataset.labels.nnz, dataset.n_labels) == (4, 0, 7)


def test_no_rows(pair: Callable[..., Path]) -> None:
    dataset = read_dataset(pair("0 10\n", "0 5\n"))
    assert (dataset.n_rows, dataset.n_features, dataset.n_labels) == (0, 10, 5)


def test_sizes_of_the_model_must_fit(pair: Callable[..., Path]) -> None:
    with pytest.raises(DataFileError, match=r"trn_X_Xf.txt:1: the header says 10 features, but 11 are expected"):
        read_dataset(pair(), n_features=11)
    with pytest.raises(DataFileError, match=r"trn_X_Y.txt:1: the header says 5 labels, but 6 are expected"):
        read_dataset(pair(), n_labels=6)


ROW_FAULTS = {
    "1:1 x": ("no colon", r"'x' has no colon.*column 5"),
    "1:x": ("bad value", r"'x' is not a number.*column 3"),
    "1:nan": ("value not finite", "'nan' is not finite"),
    "1:1:1": ("two colons", "two colons"),
    "10:1": ("feature index too large", "feature index 10: the header says (10 features|5 labels)"),
    "-1:1": ("bad feature index", "'-1' is below 0"),
    "1:1 1:2": ("feature given twice", "feature 1 is given twice"),
    "# note": ("no colon", "'#' has no colon"),
}


@pytest.mark.parametrize("which", ["trn_X_Xf.txt", "trn_X_Y.txt"])
@pytest.mark.parametrize("row", ROW_FAULTS)
def test_a_bad_row_in_either_file(pair: Callable[..., Path], which: str, row: str) -> None:
    reason, message = ROW_FAULTS[row]
    lines = (FEATURES if which == "trn_X_Xf.txt" else LABELS).splitlines()
    text = "\n".join([*lines[:2], row, *lines[3:], ""])
    path = pair(text) if which == "trn_X_Xf.txt" else pair(labels=text)
    with pytest.raises(DataFileError, match=rf"{which}:3: .*{message}"):
        read_dataset(path)
    dataset = read_dataset(path, on_error="skip")
    assert (dataset.n_rows, dataset.skipped) == (3, {reason: 1})
    assert dataset.features.indices.tolist() == [0, 3, 1, 4, 9]
    assert dataset.labels.indices.tolist() == [0, 1, 0, 4]
    report = check_file(path)
    assert [(Path(f.file or report.file).name, f.line, f.reason) for f in report.faults] == [(which, 3, reason)]
    assert any(f"{which}:3: " in line for line in report.lines())


def test_a_row_that_is_bad_in_both_files_is_lost_once(pair: Callable[..., Path]) -> None:
    dataset = read_dataset(pair(FEATURES.replace("3:0.5", "x"), LABELS.replace("0:1 1:1", "y")), on_error="skip")
    assert (dataset.n_rows, dataset.skipped) == (3, {"no colon": 1})


FILE_FAULTS = [
    (FEATURES, LABELS.replace("4 5\n", "3 5\n"), "trn_X_Y.txt:1: the header says 3 rows, but that of .* says 4"),
    (FEATURES + "1:1\n", LABELS, "trn_X_Xf.txt:6: more rows than the header says: 4"),
    (FEATURES, LABELS + "1:1\n", "trn_X_Y.txt:6: more rows than the header says: 4"),
    (FEATURES.replace("9:1\n", ""), LABELS, "trn_X_Xf.txt:4: the header says 4 rows, but 3 are there"),
    (FEATURES, LABELS.replace("4:1 0:1\n", ""), "trn_X_Y.txt:4: the header says 4 rows, but 3 are there"),
    ("", LABELS, "trn_X_Xf.txt:1: empty file"),
    (FEATURES, "", "trn_X_Y.txt:1: empty file"),
    ("4 -1\n\n\n\n\n", LABELS, "trn_X_Xf.txt:1: the header says -1 features: below 0"),
    ("4 10 5\n\n\n\n\n", LABELS, "trn_X_Xf.txt:1: '4 10 5' is not a header: expected two"),
    (FEATURES, "4 99999999999\n\n\n\n\n", "trn_X_Y.txt:1: the header says 99999999999 labels: at most"),
    (FEATURES, gzip.compress(LABELS.encode(), mtime=0)[:-9], "trn_X_Y.txt: the gzip stream is damaged"),
]


@pytest.mark.parametrize(("features", "labels", "message"), FILE_FAULTS)
def test_what_is_never_skipped(pair: Callable[..., Path], features: str, labels: str | bytes, message: str) -> None:
    path = pair(features, labels)
    for on_error in ("stop", "skip"):
        with pytest.raises(DataFileError, match=message):
            read_dataset(path, "split", on_error=on_error)
    report = check_file(path, "split", ReadOptions())
    assert not report.ok


def test_a_dataset_goes_to_xmc_and_back(pair: Callable[..., Path], tmp_path: Path) -> None:
    dataset: Dataset = read_dataset(pair())
    write_xmc(dataset, tmp_path / "rows.txt")
    assert read_dataset(tmp_path / "rows.txt").fingerprint == dataset.fingerprint
