"""Parts and arrays that are wrong: `join` and `from_arrays` raise InputError, and no kernel reads beyond its arrays."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
import pytest
from tests.checks.damage import changed_bytes, with_another, with_changes
from tests.models.linear_models import parts_of, random_rows, random_weights

from xmach.data.arrays import as_sparse_rows
from xmach.errors import InputError
from xmach.models import LinearModel
from xmach.models.linear import BucketWeights
from xmach.types import AnyArray


def _without(parts: Sequence[BucketWeights], i: int) -> list[BucketWeights]:
    return [part for place, part in enumerate(parts) if place != i]


def test_every_bucket_exactly_once() -> None:
    parts = parts_of(random_weights(12, 9), [3, 6])
    for wrong, message in (
        (_without(parts, 0), "bucket 0 is in no part"),
        (_without(parts, 1), "bucket 3 is in no part"),
        (_without(parts, 2), "the parts have 6 buckets, the model has 9"),
        ([*parts, parts[1]], "bucket 3 is in two parts"),
        ([], "the parts have 0 buckets, the model has 9"),
    ):
        with pytest.raises(ValueError, match=message):
            LinearModel.join(wrong, 12, 9, "logistic")
    with pytest.raises(ValueError, match="the parts have 9 buckets, the model has 8"):
        LinearModel.join(parts, 12, 8, "logistic")


def test_parts_that_are_wrong() -> None:
    [part] = parts_of(np.ones((3, 2), np.float32))
    nan, twice = np.full(6, np.nan, np.float32), np.array([0, 1, 1, 0, 1, 2], np.int32)
    for wrong, message in (
        (part._replace(features=part.features + 1), "features outside 0 to 2"),
        (part._replace(features=part.features - 1), "features outside 0 to 2"),
        (part._replace(features=twice), "a feature twice in one bucket"),
        (part._replace(values=nan), "not finite"),
        (part._replace(biases=nan[:2]), "not finite"),
        (part._replace(values=part.values[:-1]), "do not belong together"),
        (part._replace(starts=np.array([0, 7, 6])), "do not rise"),
        (part._replace(starts=np.array([1, 3, 6])), "do not rise"),
    ):
        with pytest.raises(InputError, match=message):
            LinearModel.join([wrong], 3, 2, "logistic")
    with pytest.raises(InputError, match="bits must be 8 or 32, got 16"):
        LinearModel.join([part], 3, 2, "logistic", bits=16)
    with pytest.raises(InputError, match="one of squared_hinge, logistic, softmax, got 'relu'"):
        LinearModel.join([part], 3, 2, "relu")


NAMES = ("starts", "gaps", "codes", "scales", "biases")
MODELS = {bits: LinearModel.join(parts_of(random_weights(12, 9)), 12, 9, "logistic", bits=bits) for bits in (8, 32)}


def check_that_it_raises_or_answers(arrays: dict[str, AnyArray]) -> None:
    dense = random_rows(6, 12)
    for loss, normalised in (("squared_hinge", False), ("logistic", True)):
        try:
            model = LinearModel.from_arrays(arrays, loss, normalised)
            answers = [model.probabilities(dense), model.probabilities(as_sparse_rows(dense))]
        except InputError:
            continue
        assert all(np.isfinite(answer).all() for answer in answers)


@changed_bytes(NAMES)
def test_bytes_that_were_changed(bits: int, name: str, changes: list[tuple[int, int]]) -> None:
    check_that_it_raises_or_answers(with_changes(MODELS[bits].arrays(), name, changes))


@pytest.mark.parametrize("bits", [8, 32])
@pytest.mark.parametrize("name", NAMES)
def test_arrays_of_other_lengths_types_and_shapes(bits: int, name: str) -> None:
    for arrays in with_another(MODELS[bits].arrays(), name):
        check_that_it_raises_or_answers(arrays)


def test_messages_say_what_is_wrong() -> None:
    arrays = MODELS[32].arrays()
    nan, half = np.full(9, np.nan, np.float32), np.full(9, -0.5, np.float32)
    for change, message in (
        (
            {"gaps": arrays["gaps"].astype(np.int8)},
            "'gaps' of the linear model must be 1-D uint8 or uint16, got 1-D int8",
        ),
        ({"scales": arrays["scales"][None]}, "'scales' of the linear model must be 1-D float32, got 2-D float32"),
        ({"gaps": np.zeros_like(arrays["gaps"])}, "the weights of feature 0 of the linear model are damaged"),
        ({"gaps": arrays["gaps"][1:]}, "gaps, but"),
        ({"biases": arrays["biases"][1:]}, "9 scales, but 8 biases"),
        ({"biases": nan}, "'biases' of the linear model has numbers from nan to nan"),
        ({"scales": half}, "'scales' of the linear model has numbers from -0.5 to -0.5"),
        ({"codes": arrays["codes"] * np.float32(1e35)}, "'codes' of the linear model has numbers from"),
        ({"starts": arrays["starts"][:0]}, "no starts"),
    ):
        with pytest.raises(InputError, match=re.escape(message)):
            LinearModel.from_arrays(arrays | change, "logistic", False)
    with pytest.raises(InputError, match="lacks the array 'codes'"):
        LinearModel.from_arrays({name: array for name, array in arrays.items() if name != "codes"}, "logistic", False)


def test_64_bit_starts_answer_as_32_bit_ones() -> None:
    arrays, rows = MODELS[8].arrays(), random_rows(6, 12)
    wide = LinearModel.from_arrays(arrays | {"starts": arrays["starts"].astype(np.int64)}, "logistic", False)
    assert wide.probabilities(rows).tobytes() == MODELS[8].probabilities(rows).tobytes()
