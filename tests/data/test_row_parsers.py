"""The fast parser is judged by its slow twin: the same rows, or it declines."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from xmach.data import read_dataset
from xmach.data.read.lines import Chunk, line_chunks
from xmach.data.read.rows import Batch, Rules
from xmach.data.read.sparse.exact import BlankLines, parse_exact
from xmach.data.read.sparse.fast import RowParser, parse_fast
from xmach.data.read.sparse.split import BareRules
from xmach.data.read.sparse.svmlight import SvmlightRules
from xmach.data.read.sparse.vw import VwRules
from xmach.data.read.sparse.xmc import XmcRules
from xmach.errors import DataFileError

RULES: list[Rules] = [
    XmcRules(20, 20),
    SvmlightRules(None),
    SvmlightRules(20),
    BareRules(20, "features"),
    VwRules(None),
    VwRules(20),
]
NUMBERS = ["0", "7", "19", "20", "007", "-1", "+1", "1.0", "1.50", ".5", "5.", "-.5", "1e3", "1E-3", "1e", "1e39", "e"]
ODD_NUMBERS = [
    "nan",
    "inf",
    "0x1",
    "1_0",
    "",
    "-",
    ".",
    "1e400",
    "99999999999",
    "9" * 30,
    "1.7",
    "٣",
    "-0",
    "--1",
    "+-1",
]

number = st.sampled_from(NUMBERS + ODD_NUMBERS)
clean_feature = st.builds("{}:{}".format, st.integers(0, 19), st.sampled_from(NUMBERS[:3] + NUMBERS[6:14]))
feature = st.one_of(clean_feature, clean_feature, st.builds("{}:{}".format, number, number), number)
label = st.one_of(st.integers(0, 19).map(str), st.integers(0, 19).map(str), number)
gap = st.sampled_from([" ", " ", " ", "  ", "\t", " \t "])


@st.composite
def lines(draw: st.DrawFn) -> str:
    bar = draw(st.sampled_from([[], ["|"]]))
    tokens = [",".join(draw(st.lists(label, max_size=3))), *bar, *draw(st.lists(feature, max_size=4))]
    text = tokens[0] + "".join(draw(gap) + token for token in tokens[1:])
    return text + draw(st.sampled_from(["", "", "", " ", "\r", " # note", "#", "\x00", "\xa0"]))


def assert_same(fast: Batch, slow: Batch) -> None:
    """The slow rows begin with the fast ones, and nothing is wrong with those."""
    n = len(fast.lines)
    first_fault = min((fault.line for fault in slow.faults), default=np.inf)
    assert fast.faults == []
    assert n == 0 or fast.lines[-1] < first_fault
    ends = {"labels": slow.label_counts[:n].sum(), "features": slow.feature_counts[:n].sum()}
    ends["values"] = ends["features"]
    for name in ("lines", "label_counts", "labels", "feature_counts", "features", "values"):
        ours, theirs = getattr(fast, name), getattr(slow, name)[: ends.get(name, n)]
        assert ours.dtype == theirs.dtype, name
        np.testing.assert_array_equal(ours.view(f"u{ours.itemsize}"), theirs.view(f"u{ours.itemsize}"), err_msg=name)


@pytest.mark.parametrize("rules", RULES)
@settings(deadline=None)  # the first call compiles
@given(text=st.lists(lines(), min_size=1, max_size=4))
def test_fast_gives_what_exact_gives_up_to_an_odd_row(rules: Rules, text: list[str]) -> None:
    chunk = Chunk(5, "".join(line + "\n" for line in text).encode())
    fast, stop = parse_fast(chunk, rules)
    assert chunk.data.count(b"\n", 0, stop) == len(fast.lines)
    assert_same(fast, parse_exact(chunk, rules, BlankLines()))


@pytest.mark.parametrize("rules", RULES)
@settings(deadline=None)  # the first call compiles
@given(data=st.lists(st.sampled_from(list(b"019:, \t\n\r#.-+e|")), max_size=40).map(bytes))
def test_fast_agrees_on_arbitrary_bytes(rules: Rules, data: bytes) -> None:
    chunk = Chunk(1, data + b"\n")
    assert_same(parse_fast(chunk, rules)[0], parse_exact(chunk, rules, BlankLines()))


@settings(deadline=None)  # the first call compiles
@given(rows=st.lists(st.tuples(st.lists(st.integers(0, 19)), st.dictionaries(st.integers(0, 19), st.floats(width=32)))))
def test_clean_rows_take_the_fast_way(rows: list[tuple[list[int], dict[int, float]]]) -> None:
    text = "".join(
        ",".join(map(str, labels)) + "".join(f" {i}:{v!r}" for i, v in features.items()) + "\n"
        for labels, features in rows
        if (labels or features) and all(v == 0 or 1e-30 < abs(v) < 1e30 for v in features.values())
    )
    assert parse_fast(Chunk(1, text.encode()), RULES[0])[1] == len(text)


def test_a_fault_deep_in_a_large_file_has_its_line(write: Callable[..., Path]) -> None:
    rows = [f"{i % 5} {i % 7}:1 {i % 7 + 1}:0.5" for i in range(200_000)]
    rows[123_456] = "1 3:x"
    path = write("\n".join(["200000 10 5", *rows]))
    with pytest.raises(DataFileError, match=r":123458: 'x' is not a number \(column 5\)"):
        read_dataset(path)
    dataset = read_dataset(path, on_error="skip")
    assert (dataset.n_rows, dataset.skipped) == (199_999, {"bad value": 1})


@settings(deadline=None)  # the first call compiles
@given(size=st.integers(1, 40))
def test_chunks_of_any_size_hold_the_same_lines(size: int, tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.mktemp("lines") / "rows.txt"
    path.write_bytes(b"\xef\xbb\xbf1 2:3\n\n# note\n4 5:6 7:8\n9")
    chunks = list(line_chunks(path, size=size))
    assert b"".join(chunk.data for chunk in chunks) == b"1 2:3\n\n# note\n4 5:6 7:8\n9\n"
    assert [chunk.first_line for chunk in chunks] == [
        1 + b"".join(c.data for c in chunks[:i]).count(b"\n") for i in range(len(chunks))
    ]


def test_one_long_odd_line_is_parsed_once() -> None:
    text = "1 " + " ".join(f"{i}:1" for i in range(20_000)) + " 5:x\n"
    batches = list(RowParser(SvmlightRules(None)).parse(Chunk(1, text.encode())))
    assert [fault.reason for batch in batches for fault in batch.faults] == ["bad value"]
