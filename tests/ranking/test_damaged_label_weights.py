"""Parts and arrays that are wrong: `join` and `from_arrays` raise InputError, and no kernel reads beyond its arrays."""

from __future__ import annotations

import re

import numpy as np
import pytest
from tests.checks.damage import changed_bytes, with_another, with_changes
from tests.models.linear_models import parts_of, random_weights
from tests.ranking.label_problems import random_pairs, unit_rows

from xmach.errors import InputError
from xmach.ranking.label_weights import LabelWeights
from xmach.types import AnyArray

NAMES = ("n_features", "starts", "gaps", "codes", "scales", "biases")
RANKERS = {bits: LabelWeights.join(parts_of(random_weights(12, 9)), 12, 9, bits=bits) for bits in (8, 32)}


def test_every_label_exactly_once() -> None:
    first, second, third = parts_of(random_weights(12, 9), [3, 6])
    for wrong, message in (
        ([second, third], "label 0 is in no part; join needs every label exactly once"),
        ([first, third], "label 3 is in no part"),
        ([first, second], "the parts have 6 labels, the model has 9"),
        ([first, second, third, second], "label 3 is in two parts"),
        ([], "the parts have 0 labels, the model has 9"),
    ):
        with pytest.raises(InputError, match=message):
            LabelWeights.join(wrong, 12, 9)


def test_parts_that_are_wrong() -> None:
    [part] = parts_of(np.ones((3, 2), np.float32))
    for wrong, message in (
        (part._replace(features=part.features + 1), "features outside 0 to 2"),
        (part._replace(features=np.array([0, 1, 1, 0, 1, 2], np.int32)), "the features of a label do not rise"),
        (part._replace(features=np.array([2, 1, 0, 0, 1, 2], np.int32)), "the features of a label do not rise"),
        (part._replace(values=np.full(6, np.nan, np.float32)), "not finite"),
        (part._replace(starts=np.array([0, 7, 6])), "do not rise"),
    ):
        with pytest.raises(InputError, match=message):
            LabelWeights.join([wrong], 3, 2)
    with pytest.raises(InputError, match="bits must be 8 or 32, got 16"):
        LabelWeights.join([part], 3, 2, bits=16)


def check_that_it_raises_or_answers(arrays: dict[str, AnyArray]) -> None:
    try:
        ranker = LabelWeights.from_arrays(arrays)
        margins = ranker.margins(unit_rows(6, 12), *random_pairs(6, 9, 0))
    except InputError:
        return
    assert np.isfinite(margins).all()


@changed_bytes(NAMES)
def test_bytes_that_were_changed(bits: int, name: str, changes: list[tuple[int, int]]) -> None:
    check_that_it_raises_or_answers(with_changes(RANKERS[bits].arrays(), name, changes))


@pytest.mark.parametrize("bits", [8, 32])
@pytest.mark.parametrize("name", NAMES)
def test_arrays_of_other_lengths_types_and_shapes(bits: int, name: str) -> None:
    for arrays in with_another(RANKERS[bits].arrays(), name):
        check_that_it_raises_or_answers(arrays)


def test_messages_say_what_is_wrong() -> None:
    arrays = RANKERS[32].arrays()
    for change, message in (
        ({"gaps": arrays["gaps"].astype(np.int8)}, "'gaps' of the ranker must be 1-D uint8 or uint16, got 1-D int8"),
        ({"gaps": np.zeros_like(arrays["gaps"])}, "of the ranker are damaged"),
        ({"gaps": arrays["gaps"][1:]}, "gaps, but"),
        ({"biases": arrays["biases"][1:]}, "the ranker has 9 scales, but 8 biases"),
        ({"biases": np.full(9, np.nan, np.float32)}, "'biases' of the ranker has numbers from nan to nan"),
        ({"scales": np.full(9, 1e31, np.float32)}, "a scale or bias of the ranker is beyond 1e+30"),
        ({"starts": arrays["starts"][:-1]}, "the ranker has 9 labels, but 9 starts"),
        ({"n_features": np.array([0])}, "'n_features' of the ranker must be one number from 1 to 2147483647"),
        ({"n_features": np.array([12, 12])}, "'n_features' of the ranker must be one number"),
        ({"n_features": np.array([5])}, "the weights of label 0 of the ranker are damaged"),
    ):
        with pytest.raises(InputError, match=re.escape(message)):
            LabelWeights.from_arrays(arrays | change)
    with pytest.raises(InputError, match="the ranker lacks the array 'codes'"):
        LabelWeights.from_arrays({name: array for name, array in arrays.items() if name != "codes"})
