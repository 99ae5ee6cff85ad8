"""Types, attributes and names fit together."""

from __future__ import annotations

import numpy as np

from xmach.synthetic.attributes import attributes
from xmach.synthetic.catalogue import N_ATTRIBUTES
from xmach.synthetic.departments import product_types
from xmach.synthetic.names import N_BRAND_NAMES, brand_names, series_names


def test_types_have_known_attributes() -> None:
    types = product_types()
    assert len(types) >= 60
    assert len({each.department for each in types}) >= 8
    assert len({each.names[0] for each in types}) == len(types)
    for each in types:
        assert len(each.names) >= 2, each
        assert len(each.variant_attributes) == 2, each
        assert 1 <= len(each.line_attributes) <= N_ATTRIBUTES - 2, each
        assert set(each.variant_attributes + each.line_attributes) <= set(attributes()), each


def test_every_attribute_is_used_and_its_values_differ() -> None:
    used = {name for each in product_types() for name in each.variant_attributes + each.line_attributes}
    assert used == set(attributes())
    for name, values in attributes().items():
        assert len({value[0] for value in values}) == len(values) >= 4, name
        assert all(form and form == form.strip() for value in values for form in value), name


def test_brand_names_differ() -> None:
    some = list(brand_names(np.arange(N_BRAND_NAMES)).values())
    assert len(set(some)) == len(some)
    assert all(name.isalpha() and name.istitle() for name in some)
    assert len(set(series_names())) == len(series_names())
