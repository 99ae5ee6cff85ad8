"""Scaling: scikit-learn as the oracle, and the same bits for a row in every batch."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.feature_extraction.text import TfidfTransformer

from xmach._kernels.train.rows import tfidf_rows
from xmach.errors import InputError, ParameterError
from xmach.features import Scaler, fit_scaler, scaling
from xmach.types import FloatArray, SparseRows, slice_rows

D = 40


def random_rows(n: int, seed: int = 0, low: float = 1.0, empty: float = 0.2) -> SparseRows:
    """Rows with up to 30 values of at least `low`, some of them empty."""
    rng = np.random.default_rng(seed)
    columns = [np.sort(rng.permutation(D)[: 0 if rng.random() < empty else rng.integers(1, 31)]) for _ in range(n)]
    indptr = np.cumsum([0, *[len(each) for each in columns]]).astype(np.int64)
    values = (low + rng.exponential(2.0, indptr[-1])).astype(np.float32)
    return SparseRows(indptr, np.concatenate([np.zeros(0), *columns]).astype(np.int32), values, D)


def as_scipy(rows: SparseRows) -> sp.csr_matrix:
    return sp.csr_matrix((rows.values, rows.indices, rows.indptr), shape=rows.shape)


def scaled(scaler: Scaler, rows: SparseRows) -> SparseRows:
    result = scaler.apply(rows)
    assert isinstance(result, SparseRows)
    return result


def test_tfidf_is_scikit_learns() -> None:
    rows, fresh = random_rows(300), random_rows(50, seed=1)
    oracle = TfidfTransformer(sublinear_tf=True, smooth_idf=True, norm="l2").fit(as_scipy(rows))
    scaler = fit_scaler(rows, "tfidf")
    assert scaler.idf is not None
    np.testing.assert_allclose(scaler.idf, oracle.idf_, rtol=1e-6)
    for each in (rows, fresh):
        np.testing.assert_allclose(scaled(scaler, each).values, oracle.transform(as_scipy(each)).data, rtol=2e-6)


def test_fitting_by_the_chunk_is_fitting_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = random_rows(100)
    whole = fit_scaler(rows).idf
    monkeypatch.setattr(scaling, "SCALING_ROWS", 7)
    np.testing.assert_array_equal(fit_scaler(rows).idf, whole)


@pytest.mark.parametrize("kind", ["tfidf", "l2"])
def test_a_row_has_the_same_bits_in_every_batch(kind: scaling.Scaling) -> None:
    rows = random_rows(500, low=0.1)
    scaler = fit_scaler(rows, kind)
    whole = scaled(scaler, rows)
    for i in range(rows.n_rows):
        np.testing.assert_array_equal(scaled(scaler, rows.slice(i, i + 1)).values, whole.row(i)[1])
    some = np.random.default_rng(0).permutation(rows.n_rows)[:77]
    np.testing.assert_array_equal(scaled(scaler, rows.take(some)).values, whole.take(some).values)


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("width", [1, 7, 300])
def test_a_dense_row_has_the_same_bits_in_every_batch(order: str, width: int) -> None:
    rows = np.asarray(np.random.default_rng(0).normal(size=(64, width)), dtype=np.float32, order=order)  # type: ignore[call-overload]
    scaler = fit_scaler(rows, "l2")
    whole = scaler.apply(rows)
    assert isinstance(whole, np.ndarray)
    np.testing.assert_allclose(np.linalg.norm(whole, axis=1), 1, rtol=1e-6)
    for i in range(64):
        np.testing.assert_array_equal(scaler.apply(slice_rows(rows, i, i + 1)), whole[i : i + 1])


def frequencies(values: list[float]) -> list[float]:
    """Term frequencies: one column a value, so that tf-idf weights of 1 leave nothing else."""
    out = np.empty(len(values), np.float32)
    tfidf_rows(
        np.arange(len(values), dtype=np.int32), np.array(values, np.float32), np.ones(len(values), np.float32), out
    )
    return [float(each) for each in out]


@settings(deadline=None)
@given(st.lists(st.floats(0, 2.0**60, width=32), min_size=2, max_size=2).map(sorted))
def test_term_frequency_is_monotone_and_never_negative(pair: list[float]) -> None:
    low, high = frequencies(pair)
    assert 0 <= low <= high


def test_small_weights_stay_as_they_are() -> None:
    np.testing.assert_allclose(frequencies([0.0, 0.25, 1.0, np.e]), [0, 0.25, 1, 2], rtol=1e-6)


@settings(deadline=None, max_examples=40)
@given(st.integers(0, 12), st.integers(0, 99), st.sampled_from(["tfidf", "l2"]))
def test_rows_have_unit_length_or_none(n: int, seed: int, kind: scaling.Scaling) -> None:
    rows = random_rows(n, seed=seed, empty=0.5)
    result = scaled(fit_scaler(rows, kind), rows)
    assert result.indptr is rows.indptr
    assert result.indices is rows.indices
    assert result.values.dtype == np.float32
    for i in range(n):
        _, values = result.row(i)
        assert len(values) == 0 or np.linalg.norm(values) == pytest.approx(1, abs=1e-5)


def test_the_input_is_left_alone_and_zeros_stay_zero() -> None:
    rows = SparseRows(np.array([0, 2, 2, 4]), np.array([0, 1, 0, 2], np.int32), np.array([0, 0, 3, 4], np.float32), 3)
    assert scaled(fit_scaler(rows, "l2"), rows).values.tolist() == pytest.approx([0, 0, 0.6, 0.8])
    assert rows.values.tolist() == [0, 0, 3, 4]
    idf = fit_scaler(rows, "tfidf").idf
    assert idf is not None
    assert idf.tolist() == pytest.approx([np.log(2) + 1, np.log(4) + 1, np.log(2) + 1])  # stored zeros do not count


@pytest.mark.parametrize("size", [1e-30, 1e30])
def test_very_small_and_very_large_values(size: float) -> None:
    rows = SparseRows(np.array([0, 2]), np.array([0, 1], np.int32), np.array([3 * size, 4 * size], np.float32), 2)
    assert scaled(fit_scaler(rows, "l2"), rows).values.tolist() == pytest.approx([0.6, 0.8])


def dense() -> FloatArray:
    return np.ones((3, D), dtype=np.float32)


def negative() -> SparseRows:
    rows = random_rows(20, empty=0)
    values = rows.values.copy()
    values[rows.indptr[13]] = -1
    return SparseRows(rows.indptr, rows.indices, values, D)


def test_auto_chooses_by_the_input() -> None:
    assert fit_scaler(random_rows(20), "auto").kind == "tfidf"
    assert fit_scaler(negative(), "auto").kind == "none"
    assert fit_scaler(dense(), "auto").kind == "none"


def test_none_gives_the_rows_back() -> None:
    rows = random_rows(5)
    assert fit_scaler(rows, "none").apply(rows) is rows


def test_what_tfidf_cannot_scale() -> None:
    with pytest.raises(InputError, match="row 13 has a negative one"):
        fit_scaler(negative(), "tfidf")
    with pytest.raises(InputError, match="got a dense array; use scaling='l2'"):
        fit_scaler(dense(), "tfidf")
    with pytest.raises(InputError, match="got a dense array; use scaling='l2'"):
        fit_scaler(random_rows(20)).apply(dense())


def test_other_columns_are_refused() -> None:
    with pytest.raises(InputError, match="rows have 3 columns, but the scaling was fitted on 40"):
        fit_scaler(random_rows(20)).apply(np.ones((2, 3), dtype=np.float32))


def test_parameters_are_checked() -> None:
    with pytest.raises(ParameterError, match="scaling must be one of auto, none, l2, tfidf; got 'max'"):
        fit_scaler(random_rows(2), "max")  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="kind must be one of"):
        Scaler("auto", 3)  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="idf is required for kind 'tfidf'"):
        Scaler("tfidf", 3)
    with pytest.raises(ParameterError, match="idf must have shape"):
        Scaler("tfidf", 3, np.ones(2, dtype=np.float32))
