"""The columns of a table that a model answers, held against those that it was trained on."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import scipy.sparse as sp

from xmach.data.arrays import check_columns
from xmach.errors import InputError

NUMBERS = np.eye(4)


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (["b", "a", "c"], "column 0 is 'b', not 'a': they must be in the same order"),
        (["a", "b", "d"], "it also has 'd', it lacks 'c'"),
        (["a", "b"], "match those of the training data: it lacks 'c'"),
        (["a", "b", "c", "x"], "it also has 'x'"),
        (["a", "b", "c", "b"], "it has 4 columns, not 3: some are repeated"),
        (["a", "b", 2], "it also has 2, it lacks 'c'"),
        ([f"x{i}" for i in range(9)], "'x3', 'x4' and 4 more"),
    ],
)
def test_other_columns_are_refused(names: list[Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        check_columns(pd.DataFrame(np.zeros((2, len(names))), columns=names), ("a", "b", "c"))


def test_arrow_tables_have_names() -> None:
    check_columns(pa.table({"a": [1], "b": [2]}), ("a", "b"))
    with pytest.raises(InputError, match="same order"):
        check_columns(pa.table({"b": [1], "a": [2]}), ("a", "b"))


def test_what_has_no_names_is_taken_as_it_is() -> None:
    for given in (NUMBERS, sp.csr_array(NUMBERS), NUMBERS.tolist(), pd.DataFrame(NUMBERS)):
        check_columns(given, ("a", "b", "c", "d"))
    check_columns(pd.DataFrame(NUMBERS, columns=list("wxyz")), None)
