"""The parsing kernel is judged by its slow twin, and its numbers by fractions and by Arrow."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.reference.sparse_rows import nearest_float32_slow, parse_rows_slow

from xmach._kernels.parse.sparse_rows import ANY_INTEGER, BARE, BARRED, PLAIN, parse_rows

FORMS = [(PLAIN, 20), (PLAIN, ANY_INTEGER), (BARE, 0), (BARRED, ANY_INTEGER)]
WIDE = 2**31 - 1

Rows = list[tuple[list[int], list[int], list[np.float32]]]


def parsed(data: bytes, form: int, n_labels: int, n_features: int = 50) -> tuple[Rows, int]:
    """The kernel's rows as lists, and the byte after them."""
    n, most = data.count(b"\n"), len(data) // 2 + 1
    ends, label_counts, feature_counts = np.zeros((3, n), np.int64)
    labels, features, values = np.zeros(most, np.int64), np.zeros(most, np.int32), np.zeros(most, np.float32)
    bounds = form, n_features, n_labels
    n = parse_rows(np.frombuffer(data, np.uint8), *bounds, ends, label_counts, labels, feature_counts, features, values)
    rows, i, j = [], 0, 0
    for n_row, m_row in zip(label_counts[:n].tolist(), feature_counts[:n].tolist(), strict=True):
        rows.append((labels[i : i + n_row].tolist(), features[j : j + m_row].tolist(), list(values[j : j + m_row])))
        i, j = i + n_row, j + m_row
    return rows, int(ends[n - 1]) if n else 0


def assert_same(data: bytes, form: int, n_labels: int) -> None:
    rows, stop = parsed(data, form, n_labels)
    expected = parse_rows_slow(data, form, 50, n_labels)[: len(rows)]
    assert [row[:2] for row in rows] == [row[:2] for row in expected]
    assert [np.array(row[2]).tobytes() for row in rows] == [np.array(row[2]).tobytes() for row in expected]
    assert data.count(b"\n", 0, stop) == len(rows)


@pytest.mark.parametrize(("form", "n_labels"), FORMS)
@settings(deadline=None)  # the first call compiles
@given(data=st.lists(st.sampled_from(list(b"0123459::,,  \t\n\r#.-+e|")), max_size=40).map(bytes))
def test_arbitrary_bytes(form: int, n_labels: int, data: bytes) -> None:
    assert_same(data + b"\n", form, n_labels)


@pytest.mark.parametrize(
    ("form", "n_labels", "text"),
    [
        (PLAIN, 20, "3,4 1:0.5 7:-1e-3\n5\n 2:1\n2:1\n19 0:0 # note\r\n\t1:1 \r\n7 1:5. 2:.5 #\n"),
        (PLAIN, ANY_INTEGER, "+1,-3,7.00 1:1\n123456789012345678 1:+2\n"),
        (BARE, 0, "1:1 2:1\n\n  \n3:1\t4:1\r\n\r\n"),
        (BARRED, ANY_INTEGER, "3 | 1:0.5 7\n1,2\t|\n| 4\n-1 |\t5:1\r\n  | 5\n"),
    ],
)
def test_clean_rows_are_all_taken(form: int, n_labels: int, text: str) -> None:
    rows, stop = parsed(text.encode(), form, n_labels)
    assert (stop, len(rows)) == (len(text), len(parse_rows_slow(text.encode(), form, 50, n_labels)))
    assert_same(text.encode(), form, n_labels)


@pytest.mark.parametrize(
    ("form", "line"),
    [
        *[
            (PLAIN, line)
            for line in ("", "# note", "20 1:1", "1, 1:1", "+1 1:1", "1 1", "1 1:1 x", "1 50:1", "1 1:1\r2:1")
        ],
        *[
            (PLAIN, f"1 1:{value}")
            for value in ("", "x", "1e", "1e+", ".", "-", "nan", "1e39", "1:1", "1,5", "1e99999")
        ],
        *[(BARE, line) for line in ("1 1:1", "1", "# note", "1:1 # note", "50:1")],
        *[(BARRED, line) for line in ("1 1:1", "1| 1:1", "1 |f 1:1", "1 2 | 1:1", "1 | a", "1 | 1:1 |", "1 | 1#", "")],
    ],
)
def test_an_odd_row_ends_it(form: int, line: str) -> None:
    good = {PLAIN: "1 1:1\n", BARE: "1:1\n", BARRED: "1 | 1:1\n"}[form]
    rows, stop = parsed(f"{good}{line}\n{good}".encode(), form, 20 if form == PLAIN else ANY_INTEGER)
    assert (len(rows), stop) == (1, len(good))


def numbers(texts: list[str]) -> tuple[np.ndarray, np.ndarray]:
    """The kernel's values of some texts, and which it took."""
    values, taken = np.zeros(len(texts), np.float32), np.zeros(len(texts), np.bool_)
    data = "".join(f"0:{text}\n" for text in texts).encode()
    at = 0
    while at < len(texts):
        rows, stop = parsed(data, BARE, 0)
        values[at : at + len(rows)] = [row[2][0] for row in rows]
        taken[at : at + len(rows)] = True
        at += len(rows) + 1
        data = data[data.find(b"\n", stop) + 1 :]
    return values, taken


def decimals(rng: np.random.Generator, n: int) -> list[str]:
    """Numbers of up to 17 digits in the ways that people and programs write them."""
    sizes, digits = 10.0 ** rng.uniform(-8, 8, n), rng.integers(1, 18, n)
    ways = ["{:.6f}", "{:.{d}g}", "{!r}", "{:.{d}e}", "-{:.3f}"]
    return [ways[i % 5].format(x, d=d) for i, (x, d) in enumerate(zip(sizes.tolist(), digits.tolist(), strict=True))]


def test_numbers_are_those_of_arrow() -> None:
    texts = decimals(np.random.default_rng(0), 50_000)
    values, taken = numbers(texts)
    expected = pa.array(texts).cast(pa.float32()).to_numpy()
    assert taken.mean() > 0.999
    np.testing.assert_array_equal(values[taken].view(np.uint32), expected[taken].view(np.uint32))


def test_numbers_between_two_floats() -> None:
    """Just below, at and just above the middle of neighbouring float32: taken only where surely right."""
    rng = np.random.default_rng(1)
    low = np.exp(rng.uniform(-20, 20, 300)).astype(np.float32)
    middle = (low.astype(np.float64) + np.nextafter(low, np.float32(np.inf))) / 2
    texts = [f"{x:.{d}e}" for x in middle.tolist() for d in (7, 8, 12, 16, 17)]
    texts += [repr(np.nextafter(x, to).item()) for x in middle for to in (0, np.inf)]
    values, taken = numbers(texts)
    expected = np.array([nearest_float32_slow(text) for text in texts])
    assert 0.3 < taken.mean() < 1
    np.testing.assert_array_equal(values[taken].view(np.uint32), expected[taken].view(np.uint32))


@pytest.mark.parametrize("text", ["16777217", "16777219", "33554435", "999999999999999", "0", "-0", "+0.0", "1e-45"])
def test_single_numbers(text: str) -> None:
    values, taken = numbers([text])
    assert taken[0]
    assert values[0].tobytes() == np.float32(float(text)).tobytes()


@pytest.mark.parametrize("text", ["0.1", "1e-46", "3.4028235e38", "16777217", "1e-45", "7e-46", "-0.3"])
def test_the_twin_agrees_with_arrow(text: str) -> None:
    assert nearest_float32_slow(text) == pa.array([text]).cast(pa.float32())[0].as_py()
