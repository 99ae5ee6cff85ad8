"""Invented, pronounceable brand names, and the names of product series."""

from __future__ import annotations

from functools import cache
from math import prod

import numpy as np

from xmach.synthetic.randomness import Shuffle, key
from xmach.types import IntArray

# The five parts of a name, each a choice.
BRAND_PARTS = (
    (
        "b",
        "br",
        "c",
        "cl",
        "d",
        "dr",
        "f",
        "g",
        "gr",
        "h",
        "k",
        "l",
        "m",
        "n",
        "p",
        "pr",
        "r",
        "s",
        "st",
        "t",
        "v",
        "z",
    ),
    ("a", "e", "i", "o", "u", "ai", "ea", "io"),
    ("b", "d", "l", "ll", "m", "n", "nd", "nt", "r", "rr", "rt", "s", "ss", "t", "v", "x", "z", "lm", "ph"),
    ("a", "e", "i", "o", "u", "ai", "ea", "io"),
    ("", "n", "r", "s", "x", "l", "ro", "ta", "ko", "via"),
)
N_BRAND_NAMES = prod(len(choices) for choices in BRAND_PARTS)

_SERIES = """
trail ridge summit harbor aurora nimbus comet vertex atlas ember willow falcon canyon orbit pulse drift terra
cascade horizon meadow granite sierra tundra lagoon prairie delta breeze storm echo nova zenith crest pioneer nomad
voyager ranger scout explorer classic heritage studio urban metro city coast island forest alpine glacier river
brook stone iron amber cobalt crimson indigo jade onyx opal pearl ruby sapphire topaz quartz flint maple cedar
juniper hazel ivy fern clover thistle heather robin swift heron raven otter badger lynx puma bison condor osprey
dolphin orca coral anchor compass beacon lantern torch spark flash bolt turbo sprint glide flow motion stride rapid
quick prime elite select premier essential basic pure true clear bright lumen solar lunar stellar cosmic galaxy
meteor vector matrix cipher pixel sonic tempo rhythm melody
"""


@cache
def series_names() -> tuple[str, ...]:
    """Return the names of product series."""
    return tuple(_SERIES.split())


@cache
def _shuffle() -> Shuffle:
    return Shuffle(N_BRAND_NAMES, key("brand names"))


def brand_digits(numbers: IntArray) -> IntArray:
    """Return a different number for each brand, whose digits, lowest first, choose the parts of its name."""
    return _shuffle().forward(numbers)


def brand_names(numbers: IntArray) -> dict[int, str]:
    """Return the names of brands, by their numbers 0..N_BRAND_NAMES-1."""
    distinct = np.unique(numbers)
    names = [""] * len(distinct)
    rest = brand_digits(distinct)
    for choices in BRAND_PARTS:
        rest, which = np.divmod(rest, len(choices))
        names = [name + choices[i] for name, i in zip(names, which.tolist(), strict=True)]
    return dict(zip(distinct.tolist(), [name.capitalize() for name in names], strict=True))
