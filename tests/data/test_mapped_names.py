"""Label names in a mapped file behave like a sequence; an index finds their ids."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from xmach.data.labels import mapped_names
from xmach.data.labels.mapped_names import MappedNames, write_names
from xmach.data.labels.name_index import NameIndex
from xmach.errors import InputError

NAMES = [f"label {i}" for i in range(150)]


@pytest.fixture
def names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> MappedNames:
    monkeypatch.setattr(mapped_names, "_BLOCK", 64)  # several blocks
    write_names(tmp_path / "names.arrow", NAMES)
    return MappedNames(tmp_path / "names.arrow")


def test_names_are_a_sequence(names: MappedNames) -> None:
    assert len(names) == 150
    assert (names[0], names[-1], names[np.int64(70)]) == ("label 0", "label 149", "label 70")
    for which in (slice(3), slice(60, 70), slice(-2, None), slice(10, 2), slice(None, None, -7), slice(100, 1000)):
        assert names[which] == NAMES[which]
    assert list(names) == names.tolist() == NAMES
    assert list(reversed(names)) == NAMES[::-1]
    assert "label 149" in names
    assert "label 150" not in names
    assert 3 not in names
    assert names.index("label 80") == 80
    with pytest.raises(IndexError, match="out of bounds"):
        names[150]


def test_an_array_of_ids_gives_an_array_of_names(names: MappedNames) -> None:
    ids = np.array([[3, -1], [70, 0]])
    assert names[ids].tolist() == [["label 3", "label 149"], ["label 70", "label 0"]]
    assert names[np.zeros((2, 0), np.int64)].shape == (2, 0)
    assert names[[0, 1, -1]].tolist() == ["label 0", "label 1", "label 149"]
    assert names[[]].shape == (0,)
    for wrong in ([0, 150], np.array([-151])):
        with pytest.raises(IndexError, match="out of bounds"):
            names[wrong]
    with pytest.raises(IndexError, match="label ids must be whole numbers, got float64"):
        names[[0.5]]


def test_a_mask_selects_names(names: MappedNames) -> None:
    mask = np.arange(150) % 50 == 1
    assert names[mask].tolist() == names[mask.tolist()].tolist() == ["label 1", "label 51", "label 101"]
    assert names[np.zeros(150, np.bool_)].shape == (0,)
    with pytest.raises(IndexError, match=r"one entry for each of the 150 labels, got shape \(3,\)"):
        names[np.array([True, False, True])]


def test_a_repr_is_short(names: MappedNames, tmp_path: Path) -> None:
    assert repr(names).endswith("'label 4', ...], 150 names)")
    write_names(tmp_path / "long.arrow", ["x" * 1000] * 9)
    assert len(repr(MappedNames(tmp_path / "long.arrow"))) < 300
    write_names(tmp_path / "two.arrow", ["a", "b"])
    assert repr(MappedNames(tmp_path / "two.arrow")) == "MappedNames(['a', 'b'], 2 names)"


@pytest.mark.parametrize("array", [np.array(NAMES), np.array(NAMES, object), 7 * np.arange(150), np.arange(150) / 2])
def test_an_index_finds_ids(array: Any) -> None:
    index = NameIndex(array)
    wanted = array[[149, 0, 149, 77]].tolist()
    assert index.find([*wanted, "spoon", None, -5]) == {wanted[0]: 149, wanted[1]: 0, wanted[3]: 77}
    assert index.find([]) == {}


def test_names_of_one_hash_are_told_apart() -> None:
    index = NameIndex(np.array([-1, -2, -1.5], object))  # hash(-1) == hash(-2)
    assert index.find([-2, -1]) == {-2: 1, -1: 0}


def test_a_name_of_two_labels_is_rejected() -> None:
    index = NameIndex(np.array(["a", "b", "a"]))
    assert index.find(["b", "c"]) == {"b": 1}
    with pytest.raises(InputError, match="'a' is the name of labels 0 and 2: give ids instead"):
        index.find(["b", "a"])


def test_names_can_be_looked_up_by_their_spelling() -> None:
    assert NameIndex(np.array([1, 2, 30]), str).find(["30", 1]) == {"30": 2}
