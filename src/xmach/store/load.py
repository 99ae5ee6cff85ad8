"""From a model folder to a predictor, and back."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from xmach.errors import ModelIncomplete, ModelMissing
from xmach.files import remove_abandoned
from xmach.models.pages import FirstLayers
from xmach.predictor import Predictor
from xmach.store.index import open_index
from xmach.store.model import ModelStore


def load(folder: str | Path, *, verify: bool = True, allow_partial: bool = False) -> Predictor:
    """The predictor in a model folder, memory-mapped; checksums are verified first unless `verify` is False.

    Raises ModelIncomplete if repetitions are missing. With `allow_partial`, the predictor answers with those present.
    """
    store = ModelStore(Path(folder))
    if not store.folder.is_dir():
        # a save that was killed may have moved the old model aside
        remove_abandoned(Path(os.path.realpath(folder)).parent)
    if not store.folder.is_dir():
        raise ModelMissing(f"{folder}: there is no such folder")
    # the bare plan: if a run was killed at its start, the tables of buckets are missing
    n_repetitions = store.bare_plan().hashes.n_repetitions
    present, manifest = store.present(), store.manifest()
    missing = sorted(set(range(n_repetitions)) - set(present))
    if not present or (missing and not allow_partial):
        raise ModelIncomplete(
            f"{folder}: {len(missing)} of {n_repetitions} repetitions are missing ({_ranges(missing)}); "
            "finish training, copy the files here, or allow a partial model (--allow-partial)"
        )
    if manifest is None and not allow_partial:
        raise ModelIncomplete(
            f"{folder}: all repetitions are there, but no manifest: run the train command without --only to write it, "
            "or allow a partial model (--allow-partial)"
        )
    plan = store.plan()
    if verify:
        store.verify(present)
    apart = verify and manifest is None  # there is no manifest to check the files against
    if apart:
        store.check_tables()
    models, first_layers = zip(*(store.mapped_model(r, verify=apart) for r in present), strict=True)
    return Predictor(
        models=models,
        hashes=plan.hashes.subset(present),
        scaler=store.scaler(verify=apart),
        label_counts=store.label_counts(verify=apart),
        label_names=store.label_names(),
        text=store.text(verify=apart),
        estimator="log" if manifest is None else manifest["estimator"],
        threshold=None if manifest is None else manifest["threshold"],
        multilabel=plan.multilabel,
        mean_labels=plan.mean_labels,
        feature_names=_feature_names(plan.columns),
        ranking=store.ranking(verify=apart),
        index=None if missing else open_index(store.folder, plan.hashes),
        pages=FirstLayers([layer for layer in first_layers if layer is not None]),
    )


def _feature_names(columns: dict[str, Any] | None) -> tuple[str, ...] | None:
    """The names of the columns of numbers; None if there are none, or if a table without a header numbers them."""
    if columns is None or not columns["header"]:
        return None
    return tuple(columns["features"]) or None  # none: the rows were text


def _ranges(numbers: list[int]) -> str:
    """Numbers as ranges: 0-3, 7."""
    parts: list[list[int]] = []
    for number in numbers:
        if parts and parts[-1][-1] == number - 1:
            parts[-1].append(number)
        else:
            parts.append([number])
    return ", ".join(f"{part[0]}-{part[-1]}" if len(part) > 1 else str(part[0]) for part in parts)
