"""Joins the weights of all labels to one list per label: quantised, within a budget, with the smaller type of gap."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from xmach._kernels.rank.label_lists import count_label_entries, fill_label_entries
from xmach.errors import InputError, NotEnoughMemory
from xmach.models.bucket_weights import BucketWeights
from xmach.models.joining import CODE_TYPES, GAP_TYPES, parts_in_order, quantised, start_type
from xmach.types import AnyArray

_CLOSE = 0.995  # of a budget: a threshold with which this much is used is close enough to the best
_LARGEST_GAPS = np.array([np.iinfo(gap).max for gap in GAP_TYPES], np.int64)


class CodedPart(NamedTuple):
    """A part and its quantised weights."""

    part: BucketWeights
    codes: AnyArray  # (m,)
    scales: AnyArray  # (b,)


class Layout(NamedTuple):
    """What the lists of all labels will be with some threshold."""

    threshold: np.float32  # smaller weights are dropped
    gap_type: type[Any]
    n_entries: int
    n_bytes: int  # of all arrays


def joined_lists(
    parts: Sequence[BucketWeights], n_features: int, n_labels: int, bits: int, most_bytes: int | None
) -> dict[str, AnyArray]:
    """Return the arrays of a `LabelWeights` of parts that cover all labels, in any order.

    With `most_bytes`, the weights of all labels that are below a common threshold are dropped until the rest fits.
    """
    if bits not in CODE_TYPES:
        raise InputError(f"bits must be 8 or 32, got {bits!r}")
    ordered = parts_in_order(parts, n_features, n_labels, "label")
    coded = [CodedPart(part, *quantised(part, bits)) for part in ordered]
    layout = _fitting_layout(coded, n_labels, CODE_TYPES[bits], most_bytes)
    starts = np.zeros(n_labels + 1, start_type(layout.n_entries))
    gaps, codes = np.empty(layout.n_entries, layout.gap_type), np.empty(layout.n_entries, CODE_TYPES[bits])
    place, largest_gap = 0, int(np.iinfo(layout.gap_type).max)
    for part, part_codes, _ in coded:
        ends, lists = starts[part.first + 1 : part.stop + 1], (part.starts, part.features, part.values, part_codes)
        place = fill_label_entries(*lists, layout.threshold, largest_gap, place, ends, gaps, codes)
    scales = np.concatenate([each.scales for each in coded])
    biases = np.concatenate([part.biases for part in ordered]).astype(np.float32, copy=False)
    size = np.array([n_features], np.int64)
    return {"n_features": size, "starts": starts, "gaps": gaps, "codes": codes, "scales": scales, "biases": biases}


def _fitting_layout(parts: Sequence[CodedPart], n_labels: int, code_type: type[Any], most_bytes: int | None) -> Layout:
    """The layout with the smallest threshold that fits, or nearly; found by bisecting the bits of the threshold.

    The bits of positive floats are in the order of the floats. Fewer weights never take more bytes.
    """
    layout = _layout(parts, n_labels, code_type, np.float32(0.0))
    if most_bytes is None or layout.n_bytes <= most_bytes:
        return layout
    sizes = [_sizes(each) for each in parts]
    low, high = (_bits(np.float32(limit)) for limit in (min(size[0] for size in sizes), max(size[1] for size in sizes)))
    high += 1
    layout = _layout(parts, n_labels, code_type, _float(high))
    if layout.n_bytes > most_bytes:
        raise NotEnoughMemory(
            f"a ranker of {n_labels:,} labels takes {layout.n_bytes:,} bytes without any weight, {most_bytes:,} are "
            "allowed: allow more, or train without a ranker"
        )
    while high - low > 1 and layout.n_bytes < _CLOSE * most_bytes:
        middle = (low + high) // 2
        tried = _layout(parts, n_labels, code_type, _float(middle))
        if tried.n_bytes <= most_bytes:
            layout, high = tried, middle
        else:
            low = middle
    return layout


def least_bytes(n_labels: int, count: int = 0) -> int:
    """The bytes of starts, scales, biases and the number of features, which `count` entries do not include."""
    return (n_labels + 1) * np.dtype(start_type(count)).itemsize + 8 * n_labels + 8


def _layout(parts: Sequence[CodedPart], n_labels: int, code_type: type[Any], threshold: np.float32) -> Layout:
    """The layout with a threshold, with the type of gap that takes fewer bytes."""
    counts = np.zeros(len(GAP_TYPES), np.int64)
    for part, codes, _ in parts:
        lists = (part.starts, part.features, part.values, codes)
        if not count_label_entries(*lists, threshold, _LARGEST_GAPS, counts):
            raise InputError(f"the features of a label do not rise in {part}")
    layouts = []
    for gap_type, count in zip(GAP_TYPES, counts.tolist(), strict=True):
        entry = np.dtype(gap_type).itemsize + np.dtype(code_type).itemsize
        layouts.append(Layout(threshold, gap_type, count, count * entry + least_bytes(n_labels, count)))
    return min(layouts, key=lambda layout: layout.n_bytes)


def _sizes(coded: CodedPart) -> tuple[float, float]:
    """The smallest and the greatest size of a part's weights."""
    sizes = np.abs(coded.part.values[coded.codes != 0])
    return float(sizes.min(initial=np.inf)), float(sizes.max(initial=0.0))


def _bits(number: np.float32) -> int:
    return int(number.view(np.int32))


def _float(bits: int) -> np.float32:
    number: np.float32 = np.int32(bits).view(np.float32)
    return number
