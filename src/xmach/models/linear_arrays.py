"""Checks the arrays of a linear model before a kernel uses them: they may come from a damaged file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from xmach._kernels.train.weight_lists import WeightLists, damaged_feature
from xmach.errors import InputError
from xmach.models.joining import CODE_TYPES, GAP_TYPES, START_TYPES
from xmach.types import AnyArray

TYPES: dict[str, tuple[type[Any], ...]] = {  # in the order of `WeightLists`
    "starts": START_TYPES,
    "gaps": GAP_TYPES,
    "codes": tuple(CODE_TYPES.values()),
    "scales": (np.float32,),
    "biases": (np.float32,),
}
LARGEST_CODE = 1e30  # a larger weight is damage; sums of such weights could become infinite, and then not a number


def checked_lists(arrays: Mapping[str, AnyArray], model: str = "linear model", biased: bool = True) -> WeightLists:
    """Return the five arrays of a `model`, contiguous; raise InputError if anything is wrong with them.

    If not `biased`, there are four arrays, and the biases that are returned are empty.
    """
    lists = checked_types(arrays, model, biased)
    feature = damaged_feature(lists.starts, lists.gaps, len(lists.scales))
    if feature >= 0:
        raise InputError(f"the weights of feature {feature:,} of the {model} are damaged")
    return lists


def checked_types(arrays: Mapping[str, AnyArray], model: str, biased: bool = True) -> WeightLists:
    """Return the arrays as `checked_lists` does, but lists may still lead beyond them: `damaged_feature` tells."""
    names = [name for name in TYPES if biased or name != "biases"]
    found = [typed(name, arrays.get(name), TYPES[name], model) for name in names]
    starts, gaps, codes, scales, biases = found if biased else [*found, np.zeros(0, np.float32)]
    if not len(starts) or not len(scales):
        raise InputError(f"the {model} has no starts or no scales")
    if len(codes) != len(gaps):
        raise InputError(f"the {model} has {len(gaps):,} gaps, but {len(codes):,} codes")
    if biased and len(scales) != len(biases):
        raise InputError(f"the {model} has {len(scales):,} scales, but {len(biases):,} biases")
    _check_numbers("scales", scales, 0.0, np.inf, model)
    _check_numbers("biases", biases, -np.inf, np.inf, model)
    if codes.dtype == np.float32:
        _check_numbers("codes", codes, -LARGEST_CODE, LARGEST_CODE, model)
    return WeightLists(starts, gaps, codes, scales, biases)


def read_only(array: AnyArray) -> AnyArray:
    """Return a read-only view. Numba compiles a kernel once more for arrays that can be written."""
    view = array.view()
    view.flags.writeable = False
    return view


def typed(name: str, array: AnyArray | None, types: tuple[type[Any], ...], model: str) -> AnyArray:
    """Return the array, read-only, if it is one-dimensional and has one of the types."""
    if array is None:
        raise InputError(f"the {model} lacks the array {name!r}")
    if array.ndim != 1 or array.dtype not in types:
        allowed = " or ".join(np.dtype(each).name for each in types)
        raise InputError(f"{name!r} of the {model} must be 1-D {allowed}, got {array.ndim}-D {array.dtype}")
    return read_only(np.ascontiguousarray(array))


def _check_numbers(name: str, array: AnyArray, least: float, greatest: float, model: str) -> None:
    """Raise InputError unless all numbers are finite and in the range. Comparisons with NaN are false."""
    if len(array):
        low, high = float(array.min()), float(array.max())
        if not (least <= low and high <= greatest and np.isfinite(low) and np.isfinite(high)):
            raise InputError(f"{name!r} of the {model} has numbers from {low:g} to {high:g}: they are damaged")
