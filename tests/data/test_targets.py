"""Targets at the door: every form of y gives the same label rows; what cannot be classes is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.exceptions import DataConversionWarning

from xmach.data.labels.targets import Targets, encode_targets
from xmach.errors import InputError


def names(targets: Targets) -> list[list[Any]]:
    """The label names of each row; checks that ids rise within a row and are in range."""
    rows = [targets.labels.row(i)[0] for i in range(targets.labels.n_rows)]
    assert all((np.diff(ids) > 0).all() for ids in rows)
    assert targets.labels.n_columns == len(targets.classes)
    assert targets.labels.indices.dtype == np.int32
    assert targets.labels.values.dtype == np.float32
    return [targets.classes[ids].tolist() for ids in rows]


@pytest.mark.parametrize(
    ("y", "classes"),
    [
        ([3, 1, 3, 7], [1, 3, 7]),
        (np.array([3, 1, 3, 7], np.uint8), [1, 3, 7]),
        (np.array([-3, 1, -3, 7]), [-3, 1, 7]),
        (np.array([3.0, 1.0, 3.0, 7.0]), [1.0, 3.0, 7.0]),
        (["b", "a", "b", "c"], ["a", "b", "c"]),
        (("b", "a", "b", "c"), ["a", "b", "c"]),
        (np.array(["b", "a", "b", "c"]), ["a", "b", "c"]),
        (np.array(["b", "a", "b", "c"], dtype=object), ["a", "b", "c"]),
        ([np.str_("b"), "a", "b", "c"], ["a", "b", "c"]),
        (pd.Series(["b", "a", "b", "c"]), ["a", "b", "c"]),
        (pd.Series(["b", "a", "b", "c"], dtype="category"), ["a", "b", "c"]),
        (pd.Series([3, 1, 3, 7], index=[9, 8, 7, 6]), [1, 3, 7]),
        (np.array([True, False, True, True]), [False, True]),
        ([True, False, True], [False, True]),
        ([5, 5, 5], [5]),
        (range(3), [0, 1, 2]),
        (iter([3, 1, 3]), [1, 3]),
        (["", " ", ""], ["", " "]),
    ],
)
def test_a_class_a_row(y: Any, classes: list[Any]) -> None:
    y = list(y) if hasattr(y, "__next__") else y
    targets = encode_targets(y)
    assert targets.form == "classes"
    assert not targets.multilabel
    assert targets.classes.tolist() == classes
    assert names(targets) == [[label] for label in list(y)]
    assert targets.labels.values.tolist() == [1.0] * len(y)


def test_an_iterator_of_classes() -> None:
    assert names(encode_targets(label for label in "ba")) == [["b"], ["a"]]


@pytest.mark.parametrize("y", [np.array([[2], [1], [2]]), pd.DataFrame({"class": [2, 1, 2]})])
def test_a_column_warns_as_scikit_learn_does(y: Any) -> None:
    with pytest.warns(DataConversionWarning, match="column-vector y was passed"):
        targets = encode_targets(y)
    assert targets.form == "classes"
    assert names(targets) == [[2], [1], [2]]


INDICATOR = np.array([[0, 1, 1], [0, 0, 0], [1, 0, 0]])
FRAME = pd.DataFrame(INDICATOR, columns=["x", "y", "z"])


@pytest.mark.parametrize(
    ("y", "form"),
    [
        (INDICATOR, "dense"),
        (INDICATOR.astype(np.float64), "dense"),
        (INDICATOR.astype(bool), "dense"),
        (INDICATOR.astype(object), "dense"),
        (INDICATOR.tolist(), "dense"),
        (np.asfortranarray(INDICATOR), "dense"),
        (sp.csr_matrix(INDICATOR), "sparse"),
        (sp.csc_array(INDICATOR), "sparse"),
        (sp.coo_array(INDICATOR.astype(bool)), "sparse"),
        (sp.csr_array(([1, 1, 0, 1, 0], [2, 1, 0, 0, 2], [0, 3, 3, 5]), shape=(3, 3)), "sparse"),  # stored zeros
    ],
)
def test_indicator_matrices(y: Any, form: str) -> None:
    targets = encode_targets(y)
    assert targets.form == form
    assert targets.multilabel
    assert targets.classes.tolist() == [0, 1, 2]
    assert names(targets) == [[1, 2], [], [0]]
    assert targets.labels.values.tolist() == [1.0] * 3


@pytest.mark.parametrize("frame", [FRAME, FRAME.astype(bool), FRAME.astype(object), FRAME.astype("Int64")])
def test_a_data_frame_names_its_labels(frame: Any) -> None:
    targets = encode_targets(frame)
    assert targets.form == "dense"
    assert names(targets) == [["y", "z"], [], ["x"]]


def test_counts_are_kept_as_label_values() -> None:
    for y in (np.array([[0, 2], [3, 1]]), sp.csr_array(np.array([[0, 2], [3, 1]]))):
        assert encode_targets(y).labels.values.tolist() == [2, 3, 1]
    twice = sp.csr_array((np.ones(3), np.array([1, 1, 0]), np.array([0, 2, 3])), shape=(2, 2))
    assert encode_targets(twice).labels.values.tolist() == [2, 1]
    assert twice.nnz == 3  # the user's matrix stays as it is


@pytest.mark.parametrize(
    "y",
    [
        [["b", "a"], [], ["c"]],
        [("b", "a"), (), ("c",)],
        [{"b", "a"}, set(), {"c"}],
        [frozenset("ab"), frozenset(), frozenset("c")],
        [["b", "a", "b"], [], ["c"]],
        [["b", "a"], (), {"c"}],
        [np.array(["b", "a"]), np.array([], str), np.array(["c"])],
        (["b", "a"], [], ["c"]),
        pd.Series([["b", "a"], [], ["c"]]),
        np.array([["b", "a"], [], ["c"]], dtype=object),
    ],
)
def test_lists_of_labels(y: Any) -> None:
    targets = encode_targets(y)
    assert targets.form == "lists"
    assert targets.multilabel
    assert targets.classes.tolist() == ["a", "b", "c"]
    assert names(targets) == [["a", "b"], [], ["c"]]


def test_lists_of_numbers() -> None:
    assert names(encode_targets([[7, 3], [], [5, 3, 5]])) == [[3, 7], [], [3, 5]]
    assert names(encode_targets([[1], [0], [1]])) == [[1], [0], [1]]  # one label each, no column of a matrix
    assert encode_targets([[1], [0]]).form == "lists"
    assert names(encode_targets([[0, 1], [2, 1]])) == [[0, 1], [1, 2]]  # no 0/1 matrix: there is a 2
    assert encode_targets([[0, 1], [1, 1]]).form == "dense"  # a list of distinct labels would not repeat one
    assert encode_targets([[0, 1], [1]]).form == "lists"


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (None, "requires y to be passed, but the target y is None"),
        ([], "y is empty"),
        (np.array([]), "y is empty"),
        (5, "y must give every row a class or a list of labels, got 5"),
        ("abc", "y should be a 1d array"),
        ([1.0, np.nan, 2.0], "y contains NaN or infinity at row 1"),
        ([1.0, 2.0, np.inf], "y contains NaN or infinity at row 2"),
        (pd.Series([1, None, 2], dtype="Int64"), "y contains NaN or infinity at row 1"),
        ([0.5, 1.5, 2.25], "Unknown label type: continuous"),
        (np.array([1.0, np.nan], dtype=object), r"y has no class in row 1 \(nan\)"),
        (np.array([1j, 2]), "Complex data not supported"),
        (np.zeros((2, 2, 2)), "dim 3"),
        (np.zeros((2, 0)), r"0 feature\(s\)"),
        (["a", 1, "b"], "y mixes types that cannot be sorted"),
        (["a", np.nan, "b"], "y mixes types that cannot be sorted"),
        (["a", None, "b"], "y has no class in row 1"),
        ([None, None], "y has no class in row 0"),
        (np.array(["a", 1, "b"], dtype=object), "y mixes types that cannot be sorted"),
        (pd.Series(["a", None, "b"]), r"y has no class in row 1 \(nan\)"),
        (pd.Series(["a", None, "b"], dtype="string"), r"y has no class in row 1 \(<NA>\)"),
        (pd.Series(["a", None, "b"], dtype="category"), "y has no class in row 1"),
        (np.array(["a", None, "b"], dtype=object), r"y has no class in row 1 \(None\)"),
        (np.array([{"a": 1}, {"b": 2}]), r"Unknown label type: \{'a': 1\} \(a dict\) in row 0; classes are text or"),
        ([{"a": 1}, {"b": 2}], r"\(a dict\) in row 0; classes are text or numbers"),
        ([[{"a": 1}], []], r"y has \{'a': 1\} \(a dict\) as a label"),
        (np.ma.masked_array([1, 2, 3], mask=[0, 1, 0]), "y has masked values"),
        ([b"a", b"b"], "y: Support for labels represented as bytes is not supported"),
        ([["a", 1], ["b"]], "y mixes types that cannot be sorted"),
        ([["a"], ["b", float("nan")]], "y mixes types that cannot be sorted"),
        ([[None, 1], [2]], "y mixes types that cannot be sorted"),
        ([[1.0, float("nan")], [2.0]], "y contains NaN or infinity as a label"),
        ([[[1, 2]], [[3]]], "one of the labels is itself a list"),
        ([[(1, 2)], [(3,)]], "one of the labels is itself a list"),
        ([[], [], []], "y has no label in any row"),
        ([[1, 2], 3], "inhomogeneous shape"),
        (np.array([["a", "b"], ["c", "d"]]), "y as a matrix must hold numbers, got an array of text"),
        (pd.DataFrame({"x": ["a"], "y": ["b"]}), "y as a matrix must hold numbers, got the text 'a' in column 0"),
        (np.array([[0, 1], [-1, 1]]), r"0/1 \(or counts\) in an indicator matrix, got -1 at row 1, column 0"),
        (sp.csr_array(np.array([[0, 1], [0, -2]])), r"indicator matrix, got -2 at row 1, column 1"),
        (np.array([[0, 1], [np.nan, 1]]), "y has NaN at row 1, column 0"),
        (sp.csr_array(np.array([[0, np.inf], [0, 1]])), "y has infinity at row 0, column 1"),
        (pd.DataFrame({"x": [1, None], "y": [0, 1]}), "y has NaN at row 1, column 0"),
    ],
)
def test_refused(y: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        encode_targets(y)


@pytest.mark.parametrize(
    "arrays", [{"indices": [0, 9]}, {"indices": [-1, 0]}, {"indptr": [0, 2, 1]}, {"indptr": [0, 1, 99]}]
)
def test_a_malformed_sparse_matrix_is_refused(arrays: dict[str, list[int]]) -> None:
    y = sp.csr_array((np.ones(2), np.array([0, 1]), np.array([0, 1, 2])), shape=(2, 3))
    for name, array in arrays.items():
        setattr(y, name, np.array(array))
    with pytest.raises(InputError, match="y is not a valid CSR matrix"):
        encode_targets(y)


def test_ids_follow_given_classes() -> None:
    classes = np.array(["c", "a", "b"])  # in the order of training
    targets = encode_targets(["a", "c", "a"], classes)
    assert targets.classes is classes
    assert targets.labels.indices.tolist() == [1, 0, 1]
    targets = encode_targets([["b", "c"], [], ["a"]], classes)
    assert names(targets) == [["c", "b"], [], ["a"]]
    assert encode_targets([[], []], classes).labels.n_columns == 3
    numbers = encode_targets(np.array([30, 10], np.int16), np.array([10, 20, 30]))
    assert numbers.labels.indices.tolist() == [2, 0]


def test_labels_that_the_classes_lack_get_ids_beyond_them() -> None:
    classes = np.array(["a", "b"])
    targets = encode_targets(["z", "a", "y", "z"], classes)
    assert targets.classes is classes
    ids = targets.labels.indices.tolist()
    assert ids[1] == 0
    assert ids[0] == ids[3] != ids[2]
    assert {ids[0], ids[2]} == {2, 3}
    assert targets.labels.n_columns == 4  # so that the rows are valid in themselves
    lists = encode_targets([["z", "b"], ["y"]], classes).labels
    assert sorted(lists.indices.tolist()) == [1, 2, 3]
    assert lists.n_columns == 4
    with pytest.raises(InputError, match="y contains NaN or infinity as a label"):
        encode_targets([[1.0, np.nan]], np.array([1.0, 2.0]))
