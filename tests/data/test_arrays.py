"""Arrays at the door: every form gives the same float32 rows; what cannot be used is refused with its place."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import scipy.sparse as sp

from xmach.data.arrays import as_rows, as_sparse_rows, check_structure
from xmach.errors import InputError
from xmach.types import SparseRows

DAYS = np.array([["2020-01-01"], ["2020-01-03"]], "datetime64[D]")
NUMBERS = np.array([[0, 2, 0, 1], [0, 0, 0, 0], [3, 0, 0, 5]])


def dense(rows: Any) -> Any:
    if not isinstance(rows, SparseRows):
        return rows
    result = np.zeros(rows.shape, np.float32)
    for i in range(rows.n_rows):
        columns, values = rows.row(i)
        assert (np.diff(columns) > 0).all()  # sorted, none twice
        result[i, columns] = values
    return result


def readonly(array: Any) -> Any:
    array = array.copy()
    array.flags.writeable = False
    return array


DENSE: dict[str, Any] = {
    "int64": NUMBERS,
    "int8": NUMBERS.astype(np.int8),
    "float16": NUMBERS.astype(np.float16),
    "float32": NUMBERS.astype(np.float32),
    "float64": NUMBERS.astype(np.float64),
    "big-endian": NUMBERS.astype(">f8"),
    "object": NUMBERS.astype(object),
    "text of numbers as objects": NUMBERS.astype(str).astype(object),
    "masked array without a mask": np.ma.masked_array(NUMBERS, mask=False),
    "read-only": readonly(NUMBERS.astype(np.float32)),
    "Fortran order": np.asfortranarray(NUMBERS.astype(np.float32)),
    "every second row": np.repeat(NUMBERS, 2, axis=0)[::2],
    "backwards": NUMBERS[::-1, ::-1].copy()[::-1, ::-1],
    "list": NUMBERS.tolist(),
    "DataFrame": pd.DataFrame(NUMBERS),
    "DataFrame of mixed types": pd.DataFrame(NUMBERS).astype({0: "float32", 1: "int8", 2: "Int64"}),
    "DataFrame of sparse columns": pd.DataFrame.sparse.from_spmatrix(sp.csr_array(NUMBERS)),
}


@pytest.mark.parametrize("form", DENSE)
def test_dense_forms(form: str) -> None:
    rows = as_rows(DENSE[form])
    assert isinstance(rows, np.ndarray)
    assert type(rows) is np.ndarray
    assert rows.dtype == np.float32
    assert rows.flags.c_contiguous
    np.testing.assert_array_equal(rows, NUMBERS)


def test_truth_values_are_numbers() -> None:
    np.testing.assert_array_equal(as_rows(NUMBERS > 0), (NUMBERS > 0).astype(np.float32))
    np.testing.assert_array_equal(dense(as_rows(sp.csr_array(NUMBERS > 0))), (NUMBERS > 0).astype(np.float32))


def test_memory_maps(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", NUMBERS.astype(np.float32))
    mapped = np.load(tmp_path / "x.npy", mmap_mode="r")
    rows = as_rows(mapped)
    np.testing.assert_array_equal(rows, NUMBERS)
    assert np.shares_memory(rows, mapped)
    matrix = sp.csr_array(NUMBERS.astype(np.float32))
    for name in ("data", "indices", "indptr"):
        np.save(tmp_path / f"{name}.npy", getattr(matrix, name))
    arrays = [np.load(tmp_path / f"{name}.npy", mmap_mode="r") for name in ("data", "indices", "indptr")]
    np.testing.assert_array_equal(dense(as_rows(sp.csr_array(tuple(arrays), shape=(3, 4)))), NUMBERS)


def with_int64_indices() -> Any:
    matrix = sp.csr_array(NUMBERS)
    matrix.indices, matrix.indptr = matrix.indices.astype(np.int64), matrix.indptr.astype(np.int64)
    return matrix


def with_readonly_arrays() -> Any:
    matrix = sp.csr_array(NUMBERS)
    matrix.data, matrix.indices, matrix.indptr = map(readonly, (matrix.data, matrix.indices, matrix.indptr))
    return matrix


def with_room_to_spare() -> Any:
    """Arrays longer than the last offset, as SciPy leaves them before `prune`."""
    matrix = sp.csr_array(NUMBERS.astype(np.float64))
    matrix.data, matrix.indices = np.append(matrix.data, np.nan), np.append(matrix.indices, 99)
    return matrix


SPARSE: dict[str, Any] = {
    **{kind: sp.csr_array(NUMBERS).asformat(kind) for kind in ("csr", "csc", "coo", "lil", "dok", "dia", "bsr")},
    "csr_matrix": sp.csr_matrix(NUMBERS),
    "float64": sp.csr_array(NUMBERS.astype(np.float64)),
    "blocks of 3 x 2": sp.csr_array(NUMBERS).tobsr(blocksize=(3, 2)),
    "int64 indices": with_int64_indices(),
    "read-only": with_readonly_arrays(),
    "unsorted": sp.csr_array(([1, 2, 5, 3], [3, 1, 3, 0], [0, 2, 2, 4]), shape=(3, 4)),
    "entries twice": sp.csr_array(([1, 1, 1, 2, 3, 3], [1, 1, 3, 3, 0, 3], [0, 3, 3, 6]), shape=(3, 4)),
    "room to spare": with_room_to_spare(),
    "a stored zero": sp.csr_array(([2, 0, 1, 3, 5], [1, 2, 3, 0, 3], [0, 3, 3, 5]), shape=(3, 4)),
}


@pytest.mark.parametrize("form", SPARSE)
def test_sparse_forms(form: str) -> None:
    rows = as_rows(SPARSE[form])
    assert isinstance(rows, SparseRows)
    assert (rows.indptr.dtype, rows.indices.dtype, rows.values.dtype) == (np.int64, np.int32, np.float32)
    assert len(rows.indices) == len(rows.values) == rows.nnz
    np.testing.assert_array_equal(dense(rows), NUMBERS)


def test_duplicates_are_summed_and_the_users_matrix_is_left_alone() -> None:
    matrix = sp.csr_array((np.array([1.0, 2.0, 4.0]), np.array([2, 0, 2]), np.array([0, 3])), shape=(1, 3))
    rows = as_rows(matrix)
    assert dense(rows).tolist() == [[2, 0, 5]]
    assert matrix.indices.tolist() == [2, 0, 2]
    assert matrix.data.tolist() == [1, 2, 4]
    assert matrix.indptr.tolist() == [0, 3]


def test_sparse_rows_pass_and_dense_rows_become_sparse() -> None:
    rows = as_sparse_rows(NUMBERS.astype(np.float32))
    assert as_rows(rows) is rows
    assert as_sparse_rows(rows) is rows
    assert rows.nnz == 4
    np.testing.assert_array_equal(dense(rows), NUMBERS)


@pytest.mark.parametrize(("value", "shown"), [(np.nan, "NaN"), (np.inf, "infinity"), (-np.inf, "infinity")])
@pytest.mark.parametrize("kind", ["dense", "float32", "object", "DataFrame", "csr", "csc", "coo"])
def test_the_place_of_a_number_that_is_none(value: float, shown: str, kind: str) -> None:
    numbers = NUMBERS.astype(np.float64)
    numbers[2, 3] = value
    given: Any = {
        "dense": numbers,
        "float32": numbers.astype(np.float32),
        "object": numbers.astype(object),
        "DataFrame": pd.DataFrame(numbers),
    }.get(kind)
    given = sp.csr_array(numbers).asformat(kind) if given is None else given
    with pytest.raises(InputError, match=f"X has {shown} at row 2, column 3; fill or drop such values first"):
        as_rows(given)


def test_other_numbers_that_are_none() -> None:
    with pytest.raises(InputError, match=r"X has 1e\+300, infinity in float32, at row 0, column 1"):
        as_rows(np.array([[0, 1e300]]))
    with pytest.raises(InputError, match=r"X has -1e\+300, infinity in float32, at row 0, column 1"):
        as_rows(sp.csr_array(np.array([[0, -1e300]])))
    with pytest.raises(InputError, match="X has NaN at row 1, column 0"):
        as_rows(np.array([[1, 2], [None, 3]], dtype=object))
    with pytest.raises(InputError, match="X has NaN at row 1, column 0"):
        as_rows(pd.DataFrame({"a": pd.array([1, None], dtype="Int64")}))
    with pytest.raises(InputError, match="validation has NaN at row 0, column 0"):
        as_rows([[np.nan]], name="validation")


def broken(kind: str, **arrays: list[int]) -> Any:
    """A 3 x 4 matrix of four entries whose arrays are put in after SciPy has looked."""
    shape = (3, 4) if kind == "csr" else (4, 3)
    base = {"data": np.ones(4), "indices": np.array([1, 3, 0, 3]), "indptr": np.array([0, 2, 2, 4])}
    matrix = sp.csr_array((3, 4)) if kind == "csr" else sp.csc_array((4, 3))
    assert matrix.shape == shape
    for name, array in (base | {name: np.array(array) for name, array in arrays.items()}).items():
        setattr(matrix, name, array)
    return matrix


@pytest.mark.parametrize("kind", ["csr", "csc"])
@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"indices": [1, -1, 0, 3]}, r"index -1 in {major} 0, but there are 4 {minor}s"),
        ({"indices": [1, 3, 0, 4]}, r"index 4 in {major} 2, but there are 4 {minor}s"),
        ({"indices": [1, 3, 2**40, 3]}, r"index 1099511627776 in {major} 2"),
        ({"indices": [1, 3, -(2**40), 3]}, r"index -1099511627776 in {major} 2"),
        ({"indptr": [0, 3, 2, 4]}, "indptr decreases after entry 1"),
        ({"indptr": [0, 2, 2, -1]}, "indptr decreases after entry 2"),
        ({"indptr": [0, 2, 2, 10**9]}, "indptr ends at 1000000000, beyond its 4 entries"),
        ({"indptr": [0, 2, 2, 5]}, "indptr ends at 5, beyond its 4 entries"),
        ({"indptr": [0, 2, 4]}, "indptr must have 4 entries and begin with 0"),
        ({"indptr": [1, 2, 2, 4]}, "indptr must have 4 entries and begin with 0"),
        ({"indptr": [-5, 2, 2, 4]}, "indptr must have 4 entries and begin with 0"),
        ({"indptr": []}, "indptr must have 4 entries and begin with 0"),
        ({"data": [1, 1]}, "indptr ends at 4, beyond its"),
    ],
)
def test_arrays_that_contradict_each_other(kind: str, arrays: dict[str, list[int]], message: str) -> None:
    major, minor = ("row", "column") if kind == "csr" else ("column", "row")
    expected = f"X is not a valid {kind.upper()} matrix: " + message.format(major=major, minor=minor)
    with pytest.raises(InputError, match=expected):
        as_rows(broken(kind, **arrays))
    with pytest.raises(InputError, match=expected):
        check_structure(broken(kind, **arrays))


@pytest.mark.parametrize(
    ("axis", "index", "message"),
    [
        (0, -(10**7), "row index -10000000, but there are 3 rows"),
        (0, 10**7, "row index 10000000, but there are 3 rows"),
        (1, 4, "column index 4, but there are 4 columns"),
    ],
)
def test_coordinates_beyond_the_matrix(axis: int, index: int, message: str) -> None:
    matrix = sp.coo_array(NUMBERS)
    matrix.coords[axis][1] = index
    with pytest.raises(InputError, match=f"X is not a valid COO matrix: {message}"):
        as_rows(matrix)


def test_other_formats_with_columns_beyond_the_matrix() -> None:
    blocks = sp.csr_array(NUMBERS).tobsr(blocksize=(3, 2))
    blocks.indices[0] = 10**6
    with pytest.raises(
        InputError, match="X is not a valid BSR matrix: index 1000000 in row 0, but there are 2 columns"
    ):
        as_rows(blocks)
    lists = sp.lil_array(NUMBERS)
    lists.rows[0] = [1, 10**6]
    with pytest.raises(InputError, match="index 1000000 in row 0, but there are 4 columns"):
        as_rows(lists)


def test_a_width_that_32_bits_cannot_hold() -> None:
    wide = sp.csr_array((np.ones(1), (np.zeros(1, np.int64), np.array([2**32 + 1]))), shape=(1, 2**33))
    with pytest.raises(InputError, match="X has 8589934592 columns; more than 2147483647 are not supported"):
        as_rows(wide)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (np.arange(3.0), r"got shape \(3,\); pass a single row as X\.reshape\(1, -1\)"),
        (np.zeros((2, 2, 2)), r"2-dimensional array of rows and features, got shape \(2, 2, 2\)"),
        (None, r"2-dimensional array of rows and features, got shape \(\)"),
        (["red", "blue"], r"2-dimensional array of rows and features, got shape \(2,\)"),
        ([["red", "blue"]], r"X must hold numbers, got an array of text; .*features='text'"),
        (NUMBERS.astype(str), r"got an array of text; use X\.astype\(float\) if these are numbers"),
        (NUMBERS.astype(bytes), "got an array of text"),
        (pd.DataFrame({"a": [1], "b": ["red"]}), "got the text 'red' in column 'b', row 0; .*features='text'"),
        (pd.DataFrame({"a": [1, 2], "b": pd.Categorical(["3", "red"])}), "got the text 'red' in column 'b', row 1"),
        (np.array([[1, 2], [3, "red"]], object), "got the text 'red' in column 1, row 1"),
        (np.ma.masked_array(NUMBERS, mask=NUMBERS > 2), "X has masked values"),
        (DAYS, "got dates or times in column 0; convert them to numbers"),
        (DAYS - DAYS[0], "got dates or times in column 0"),
        (DAYS.astype(object), "got the date or time 2020-01-01 in column 0, row 0"),
        (pd.DataFrame({"a": [1.5, 2], "when": DAYS[:, 0]}), "got dates or times in column 'when'"),
        (pd.DataFrame({"a": [1.5, 2], "ago": DAYS[:, 0] - DAYS[0, 0]}), "got dates or times in column 'ago'"),
        (pa.table({"a": [1.5, 2], "when": DAYS[:, 0]}), "got dates or times in column 'when'"),
        (pa.table({"a": [1.5, 2], "name": ["1", "red"]}), "got the text 'red' in column 'name', row 1"),
        (np.array([[10**400]], dtype=object), "X must hold numbers, got object"),
        (np.array([[1j]]), "X: Complex data not supported"),
        (sp.csr_array(np.array([[1j]])), "X: Complex data not supported"),
        (sp.csr_array(np.arange(3.0)), r"X must be a matrix of rows and features, got 1 dimension\(s\)"),
        (sp.coo_array(np.arange(3.0)), r"X must be a matrix of rows and features, got 1 dimension\(s\)"),
    ],
)
def test_what_is_no_matrix_of_numbers(given: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        as_rows(given)


def test_rows_of_different_lengths() -> None:
    with pytest.raises(ValueError, match="inhomogeneous shape"):
        as_rows([[1, 2], [3]])


@pytest.mark.parametrize("given", [NUMBERS, sp.csr_array(NUMBERS), as_sparse_rows(NUMBERS.astype(np.float32))])
def test_another_width_than_in_training(given: Any) -> None:
    assert as_rows(given, 4).shape == (3, 4)
    for width in (3, 5):
        with pytest.raises(InputError, match=f"X has 4 features, but the model was trained with {width}; pass"):
            as_rows(given, width)
