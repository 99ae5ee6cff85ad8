"""The parameters of `MACHClassifier`, checked by `fit`: scikit-learn wants `__init__` to store them untouched."""

from __future__ import annotations

from textwrap import fill
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from xmach.config import MachConfig, options
from xmach.features import featurizer
from xmach.parameters import whole
from xmach.planning import usable_cores

_KINDS = {int: "int", float: "float", str: "tuple of int"}


def config_of(parameters: dict[str, Any]) -> MachConfig:
    """The configuration that the parameters make; `features` is checked on the way."""
    if parameters["features"] is not None:
        featurizer(parameters["features"], also="None, ")
    given = {name: parameters[name] for name in options() if name in parameters}
    return MachConfig(**given, seed=seed_of(parameters["random_state"]))


def parameter_docs() -> str:
    """The part of the docstring that describes the options of `MachConfig`."""
    entries = []
    for name, option in options().items():
        if name == "learner":
            kind = '"network" or a scikit-learn classifier'
        elif name in ("seed", "patience"):  # random_state is described by hand, patience is not a parameter
            continue
        else:
            kind = " or ".join(f'"{choice}"' for choice in option.choices) or _KINDS[option.type]
        text = fill(option.help, 112, initial_indent=" " * 8, subsequent_indent=" " * 8)
        entries.append(f"    {name} : {kind}\n{text}")
    return "\n".join(entries)


def seed_of(random_state: Any) -> int:
    """The seed that everything random is derived from."""
    if isinstance(random_state, int | np.integer) and not isinstance(random_state, bool):
        return int(random_state)
    return int(check_random_state(random_state).randint(2**31 - 1))


def workers_of(n_jobs: Any) -> int:
    """How many processes train at a time; None is one, -1 one per core, -2 one fewer."""
    jobs = 1 if n_jobs is None else whole("n_jobs", n_jobs, -(2**31))
    return max(1, usable_cores() + 1 + jobs) if jobs < 0 else whole("n_jobs", jobs, 1)
