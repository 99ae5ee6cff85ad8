"""Vowpal Wabbit's text: the public files' form, its quirks, and what is wrong with it."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from sklearn.utils import murmurhash3_32

from xmach.data import check_file, guess_format, read_dataset
from xmach.errors import DataFileError

WriteFile = Callable[..., Path]
Row = dict[int, float]
ODP = "105033 | 1:0.5 422712:0.25 7:1\n17 | 3:1\n17 | 3:0.125 4:2 \n"  # as its files are: one nameless namespace


def rows_of(path: Path, **options: object) -> list[Row]:
    features = read_dataset(path, "vw", **options).features
    return [dict(zip(*(part.tolist() for part in features.row(i)), strict=True)) for i in range(features.n_rows)]


@pytest.mark.parametrize("change", [str, lambda text: text.replace("\n", "\r\n"), lambda text: text.rstrip()])
def test_the_public_form(write: WriteFile, change: Callable[[str], str]) -> None:
    path = write(change(ODP))
    assert guess_format(path) == "vw"
    dataset = read_dataset(path)
    assert rows_of(path) == [{1: 0.5, 7: 1, 422712: 0.25}, {3: 1}, {3: 0.125, 4: 2}]
    assert (dataset.n_features, dataset.label_names, dataset.weights) == (422713, ("17", "105033"), None)
    assert dataset.labels.indices.tolist() == [1, 0, 0]
    assert dataset.is_multiclass
    assert read_dataset(write(gzip.compress(path.read_bytes()), "odp.vw.gz")).fingerprint == dataset.fingerprint


def test_labels_weights_and_tags(write: WriteFile) -> None:
    path = write("1,7,3 | 1\n0 2.5 'mine| 1\n2 'mine | 1\n2 mine| 1\n| 1\n'mine| 1\n  | 1\nmine|f a\n-1 0 |\n")
    dataset = read_dataset(path, "vw")
    labels = [[dataset.label_names[i] for i in dataset.labels.row(r)[0]] for r in range(dataset.n_rows)]
    assert labels == [["1", "3", "7"], ["0"], ["2"], ["2"], [], [], [], [], ["-1"]]
    assert dataset.label_names == ("-1", "0", "1", "2", "3", "7")
    np.testing.assert_array_equal(dataset.weights, np.array([1, 2.5, 1, 1, 1, 1, 1, 1, 0], np.float32))


def test_weights_may_begin_anywhere(write: WriteFile) -> None:
    rows = ["1 | 1:1"] * 200_000
    rows[150_000] = "1 3 | 1:1"
    weights = read_dataset(write("\n".join(rows)), "vw").weights
    assert (len(weights), weights[150_000], weights.sum()) == (200_000, 3, 200_002)


def test_columns_are_those_of_vowpal_wabbit(write: WriteFile) -> None:
    """The columns that its tutorial shows for its first data set."""
    path = write("0 | price:.23 sqft:.25 age:.05 2006\n1 2 'second_house | price:.18 sqft:.15 age:.35 1976\n")
    price, sqft, age = 229902, 162853, 165201
    values = [np.float32(value) for value in (0.05, 0.25, 0.23)]
    assert rows_of(path)[0] == {2006: 1, age: values[0], sqft: values[1], price: values[2]}
    assert read_dataset(path).n_features == 2**18


def test_namespaces(write: WriteFile) -> None:
    f, g = (murmurhash3_32(name, 0, positive=True) for name in (b"f", b"g"))
    of_a = [murmurhash3_32(b"a", seed, positive=True) % 2**18 for seed in (f, g)]
    path = write("1 |f a 5:3 |g:0.5 a:3 |f a\n1 |f 5 |g 5\n1 |ü ä:2\n")
    rows = rows_of(path)
    assert rows[0] == {of_a[0]: 2, (f + 5) % 2**18: 3, of_a[1]: 1.5}
    assert rows[1] == {(f + 5) % 2**18: 1, (g + 5) % 2**18: 1}
    assert list(rows[2].values()) == [2]
    assert list(rows_of(path, n_features=1000)[1]) == sorted([(f + 5) % 1000, (g + 5) % 1000])


def test_repeated_features_add_up(write: WriteFile) -> None:
    assert rows_of(write("1 | 4:1 2:1 4:0.5 4:-1\n1 | 1:3e38 1:-3e38\n"))[0] == {2: 1, 4: 0.5}
    path = write("1 | 1:1\n1 | 1:3e38 1:3e38\n")
    with pytest.raises(DataFileError, match=":2: features of one column"):
        read_dataset(path, "vw")


def test_the_width_of_the_model_binds(write: WriteFile) -> None:
    path = write("1 | 1:1\n2 | 7:1\n")
    assert read_dataset(path, n_features=20).n_features == 20
    with pytest.raises(DataFileError, match=r":2: feature 7: the width is 5.*column 5"):
        read_dataset(path, n_features=5)


@pytest.mark.parametrize("text", ["1 | 300000:1\n1 | a\n", "1 | a\n1 | 300000:1\n"])
def test_numbers_beyond_the_hashed_columns(write: WriteFile, text: str) -> None:
    """The width would depend on the file, so a test file would be hashed into other columns."""
    path = write(text)
    with pytest.raises(DataFileError, match="hashed into 262144 columns, but there is a feature 300000"):
        read_dataset(path, on_error="skip")
    assert read_dataset(path, n_features=400_000).n_features == 400_000


def test_labels_follow_the_model(write: WriteFile) -> None:
    dataset = read_dataset(write("9 | 1\n7 | 1\n"), label_names=["7", "8"])
    assert (dataset.label_names, dataset.labels.indices.tolist()) == (("7", "8", "9"), [2, 0])


BAD = {
    "3 1:1": ("no bar", r"there is no bar in '3 1:1'.*column 6"),
    "x | 1:1": ("bad label", r"'x' is not a label; expected an integer \(column 1\)"),
    "1.5 | 1:1": ("bad label", "a regression target"),
    "1,,2 | 1:1": ("empty label", r"empty label.*column 3"),
    "1 x | 1:1": ("bad weight", r"'x' is not a number \(column 3\)"),
    "1 -2 | 1:1": ("bad weight", "the weight -2 is below 0"),
    "1 1e39 | 1:1": ("bad weight", "not finite"),
    "1 2 3 | 1:1": ("bad label", r"'3' follows the weight.*column 5"),
    "1| 1:1": ("no blank before the bar", r"'1' touches the bar.*column 1"),
    "1 0.5|f 1:1": ("no blank before the bar", r"'0.5' touches the bar.*column 3"),
    "1 |1:0.5 2:1": ("no blank after the bar", r"'1:0.5' touches the bar.*column 4"),
    "1 | 1:nan": ("value not finite", r"'nan' is not finite \(column 7\)"),
    "1 | 1:1e39": ("value not finite", r"'1e39' is not finite in float32 \(column 7\)"),
    "1 | 1:2:3": ("two colons", r"two colons.*column 5"),
    "1 | 1:": ("no value", r"a colon and no value \(column 7\)"),
    "1 | :1": ("bad feature", r"no name before its colon \(column 5\)"),
    "1 | city:paris": ("bad value", r"'paris' is not a number \(column 10\)"),
    "1 |f:x a": ("bad value", r"'x' is not a number \(column 6\)"),
    "1 | 99999999999:1": ("feature index too large", "feature 99999999999"),
    "1 | a\x00b": ("unexpected character", r"NUL byte.*column 6"),
}


@pytest.mark.parametrize("line", BAD)
def test_bad_rows(write: WriteFile, line: str) -> None:
    reason, message = BAD[line]
    path = write(f"1 | 1:1\n{line}\n2 | 2:1\n")
    with pytest.raises(DataFileError, match=rf":2: .*{message}"):
        read_dataset(path, "vw")
    dataset = read_dataset(path, "vw", on_error="skip")
    assert (dataset.n_rows, dataset.skipped) == (2, {reason: 1})
    report = check_file(path, "vw")
    assert [(fault.line, fault.reason) for fault in report.faults] == [(2, reason)]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", ":1: empty file"),
        (b"1 | 1:1\n\n1 | 1:1\n", ":2: a blank line inside the data"),
        (b"1 | 1:1\n1 | \xff:1\n", r":2: byte 0xff is not UTF-8 \(column 5\)"),
        (gzip.compress(b"1 | 1:1\n" * 1000, mtime=0)[:-20], "gzip stream is damaged"),
    ],
)
def test_bad_files(write: WriteFile, content: bytes, message: str) -> None:
    with pytest.raises(DataFileError, match=message):
        read_dataset(write(content), "vw")
