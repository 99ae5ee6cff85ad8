"""From what users hold (parameters, arrays, texts, weights) to a configuration and the rows to train on.

scikit-learn wants `__init__` to store parameters untouched, so they are checked here, when `fit` is called.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from textwrap import fill
from typing import Any

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.validation import _check_sample_weight

from xmach.config import MachConfig, options
from xmach.data import Columns, Dataset
from xmach.data.labels.targets import Targets
from xmach.errors import InputError, ParameterError
from xmach.features import VocabularyText, featurizer
from xmach.features.blocks import check_texts
from xmach.parameters import real, whole
from xmach.planning import usable_cores
from xmach.predictor import text_list
from xmach.types import FloatArray, IntArray, Rows, TextRows, take_rows

_KINDS: dict[Any, str] = {int: "int", float: "float", "hidden": '"auto" or tuple of int'}
_KINDS |= dict.fromkeys(("n_buckets", "n_repetitions", "epochs", "passes"), '"auto" or int')
_KINDS |= dict.fromkeys(("learning_rate", "cost"), '"auto" or float') | {
    "store_bits": '"auto", 8 or 32',
    "ranker_bytes": "None or int",
}


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
            kind = '"auto", "linear", "network" or a scikit-learn classifier'
        elif name in ("seed", "patience"):  # random_state is described by hand, patience is not a parameter
            continue
        else:
            kind = (
                " or ".join(f'"{choice}"' for choice in option.choices)
                or _KINDS[name if name in _KINDS else option.type]
            )
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


def is_text(X: Any) -> bool:
    """Whether X is a list, an array or a Series of str."""
    if hasattr(X, "to_pylist"):  # of Arrow, whose own strings are not str
        X = X[:1].to_pylist()
    flat = isinstance(X, list | tuple) or getattr(X, "ndim", 0) == 1
    return flat and len(X) > 0 and isinstance(next(iter(X)), str)


def dataset_of(rows: Rows, targets: Targets, sample_weight: Any) -> Dataset:
    """The rows to learn from; rows of weight 0 are left out, as if they had not been given."""
    labels = targets.labels
    if rows.shape[0] != labels.n_rows:
        raise InputError(f"X has {rows.shape[0]} rows, y has {labels.n_rows}: inconsistent numbers of samples")
    if sample_weight is None:
        return Dataset(rows, labels)
    weights, used = _used_rows(sample_weight, labels.n_rows)
    if len(used) == labels.n_rows:
        return Dataset(rows, labels, weights=weights)
    return Dataset(take_rows(rows, used), labels.take(used), weights=weights[used])


def _used_rows(sample_weight: Any, n_rows: int) -> tuple[FloatArray, IntArray]:
    """The weights of all rows, and the rows that have any."""
    weights = _check_sample_weight(sample_weight, np.empty((n_rows, 1)), dtype=np.float32, ensure_non_negative=True)
    used = np.flatnonzero(weights)
    if not len(used):
        raise InputError("sample_weight is zero for every row: there is nothing to learn from")
    return weights, used


def split_rows(share: Any, n_rows: int, seed: int) -> tuple[IntArray, IntArray]:
    """The rows to train on and those to validate on, where these are a share of all."""
    share = real("validation", share, 0.0, 1.0, with_low=False)
    held_out = round(share * n_rows)
    if not 0 < held_out < n_rows:
        raise ParameterError(f"validation={share} leaves no row to train on or to validate on ({n_rows} rows)")
    order = np.random.default_rng([seed, 0x5EED]).permutation(n_rows)
    return np.sort(order[held_out:]), np.sort(order[:held_out])


def ready_text(features: Any, X: Any, sample_weight: Any, validation: Any, seed: int) -> TextRows | None:
    """What makes rows of texts; a vocabulary is learned from what is trained on: no rows held out, none of weight 0."""
    text = None if features is None else featurizer(features)
    if not isinstance(text, VocabularyText) or text.is_learned:
        return text
    texts = text_list(X)
    check_texts(texts)
    rows = np.arange(len(texts)) if sample_weight is None else _used_rows(sample_weight, len(texts))[1]
    if validation is not None and not isinstance(validation, tuple | list):
        rows = rows[split_rows(validation, len(rows), seed)[0]]
    return text.learn(texts if len(rows) == len(texts) else [texts[row] for row in rows])


def with_columns(data: Dataset, names: Iterable[str] | None) -> Dataset:
    """The data with the columns of a DataFrame, as if it had been read from a file with such columns."""
    return data if names is None else replace(data, columns=Columns(features=tuple(map(str, names))))
