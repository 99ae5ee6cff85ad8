"""Every file of bad_inputs/ gives the outcome and the line that expected.tsv says."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from xmach.data import check_file, read_dataset
from xmach.errors import DataFileError

Case = tuple[str, str, int | None]
ROW_FAULT_IN_A_BAD_HEADER = ("header_fewer_rows.txt", "header_more_rows.txt")


def place(path: Path, line: int | None) -> str:
    return re.escape(str(path) if line is None else f"{path}:{line}") + ": "


def is_never_skipped(name: str, line: int | None) -> bool:
    return line in (None, 1) or name in ROW_FAULT_IN_A_BAD_HEADER


@pytest.mark.parametrize("format", ["xmc", "auto"])
def test_reading_ends_as_expected(bad_inputs: Path, bad_input: Case, format: str) -> None:
    name, outcome, line = bad_input
    path = bad_inputs / name
    if outcome == "ok" or (format == "auto" and name == "no_header.txt"):  # which is good svmlight
        assert read_dataset(path, format).n_rows == 2
        return
    with pytest.raises(DataFileError, match=place(path, line)) as caught:
        read_dataset(path, format)
    assert caught.value.line == line


def test_checking_tells_the_same_line(bad_inputs: Path, bad_input: Case) -> None:
    name, outcome, line = bad_input
    report = check_file(bad_inputs / name, "xmc")
    assert report.ok == (outcome == "ok")
    if not report.ok:
        assert report.faults[0].line == line
        assert any(re.search(place(bad_inputs / name, line), text) for text in report.lines())


def test_skipping_drops_bad_rows_and_never_a_bad_header(bad_inputs: Path, bad_input: Case) -> None:
    name, outcome, line = bad_input
    path = bad_inputs / name
    if outcome == "error" and is_never_skipped(name, line):
        with pytest.raises(DataFileError, match=place(path, line)):
            read_dataset(path, "xmc", on_error="skip")
        return
    dataset = read_dataset(path, "xmc", on_error="skip")
    n_bad = sum(dataset.skipped.values())
    assert n_bad == (outcome == "error")
    assert dataset.n_rows == (2 if name == "blank_line_mid.txt" else 2 - n_bad)


def test_files_that_say_the_same_read_the_same(bad_inputs: Path) -> None:
    same = ["valid_gz.txt.gz", "gz_named_txt.txt", "no_final_nl.txt", "crlf.txt", "bom.txt", "trailing_blank.txt"]
    expected = read_dataset(bad_inputs / "valid.txt").fingerprint
    assert {name: read_dataset(bad_inputs / name).fingerprint for name in same} == dict.fromkeys(same, expected)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("no_header.txt", "would fit the format 'svmlight'"),
        ("header_huge.txt", "99999999999 features"),
        ("index_ge_header.txt", "feature index 99: the header says 10 features"),
        ("label_ge_header.txt", "label 77: the header says 5 labels"),
        ("truncated_last.txt", r"'4' has no colon.*cut off\?.*column 9"),
        ("space_after_comma.txt", "space after the comma"),
        ("comma_decimal.txt", "'1,5' is not a number; use a decimal point"),
        ("nbsp.txt", r"U\+00A0 \(no-break space\).*column 2"),
        ("header_more_rows.txt", "header says 5 rows, but 2 are there"),
    ],
)
def test_messages_say_what_was_seen_and_expected(bad_inputs: Path, name: str, message: str) -> None:
    with pytest.raises(DataFileError, match=message):
        read_dataset(bad_inputs / name, "xmc")
