"""Arrays in safetensors files, there and back."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tests.models.linear_models import parts_of, random_rows, random_weights

from xmach.data.arrays import as_sparse_rows
from xmach.models import LinearModel
from xmach.store.tensors import read_tensors, write_tensors

KINDS = [np.int8, np.uint8, np.uint16, np.uint32, np.int32, np.int64, np.float32, np.float64]


@pytest.mark.parametrize("kind", KINDS)
def test_every_type_there_and_back(tmp_path: Path, kind: type) -> None:
    given = {"numbers": np.array([-128, -1, 0, 1, 127]).astype(kind), "none": np.empty(0, kind)}
    write_tensors(tmp_path / "file", given, {"about": 1})
    arrays, about = read_tensors(tmp_path / "file", verify=True)
    assert about == {"about": 1}
    for name, array in given.items():
        assert arrays[name].dtype == array.dtype
        assert arrays[name].tolist() == array.tolist()
        assert not arrays[name].flags.writeable


@pytest.mark.parametrize("bits", [8, 32])
@pytest.mark.parametrize("density", [0.0, 0.3])
def test_a_mapped_linear_model_answers_as_the_one_in_memory(tmp_path: Path, bits: int, density: float) -> None:
    model = LinearModel.join(parts_of(random_weights(30, 21, density)), 30, 21, "squared_hinge", bits=bits)
    write_tensors(tmp_path / "file", model.arrays(), {})
    mapped = LinearModel.from_arrays(read_tensors(tmp_path / "file", verify=True)[0], "squared_hinge", False)
    rows = random_rows(8, 30)
    for given in (rows, as_sparse_rows(rows)):
        assert mapped.probabilities(given).tobytes() == model.probabilities(given).tobytes()
