"""Reads a model folder: the plan with its tables of buckets, the manifest, and what all repetitions share.

The format number is the lowest that has everything in the folder. Format 2 can leave out the counts of labels without
a training row; format 3 can have a vocabulary, or hashed text whose values are ones; format 4
can have tables of buckets; format 5 can have linear buckets; format 7 can have a ranker.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from xmach.buckets import LearnedBuckets, digest_of
from xmach.data import LabelCounts
from xmach.data.labels.mapped_names import MappedNames
from xmach.errors import InputError, ModelCorrupt, ModelFormatUnsupported, ModelMissing
from xmach.features import Scaler, stored_text
from xmach.features.featurizers import needs_arrays
from xmach.files import sha256_of
from xmach.planning import Plan
from xmach.store.names import read_names
from xmach.store.tensors import read_tensors
from xmach.types import TextRows

FORMATS = (1, 2, 3, 4, 5, 6, 7)
PLAN, MANIFEST, LABELS, METRICS = "plan.json", "manifest.json", "labels.arrow", "metrics.json"
COUNTS, BUCKETS = "label_counts.safetensors", "buckets.safetensors"
IDF, VOCABULARY = "features/idf.safetensors", "features/vocabulary.safetensors"
PROFILES, TEXTS, RANKER = "profiles.safetensors", "texts.safetensors", "ranker.safetensors"


def table_name(repetition: int) -> str:
    """The name of a repetition's table in the file of all tables."""
    return f"repetition.{repetition:03d}"


def check_belongs(path: Path, about: dict[str, Any], expected: Mapping[str, Any]) -> None:
    """Raise ModelCorrupt if the metadata of a file is not what this model expects."""
    for name, value in expected.items():
        if about.get(name) != value:
            raise ModelCorrupt(f"{path}: this file belongs to another model (its {name} differs)")


@dataclass(frozen=True)
class ModelFolder:
    """Reads the plan, the manifest and what repetitions share; `ModelStore` reads the repetitions themselves."""

    folder: Path

    def plan(self) -> Plan:
        """The plan of the model."""
        bare, digests = self.bare_plan(), self.digests()
        if not digests:
            return bare
        path = self.folder / BUCKETS
        if not path.exists():
            raise ModelCorrupt(f"{path}: the plan has tables of buckets, but this file is not there")
        arrays, _ = read_tensors(path, verify=False)
        if set(arrays) != {table_name(r) for r in digests}:
            raise ModelCorrupt(f"{path}: these are not the tables of the plan's repetitions")
        try:
            return bare.with_tables({r: arrays[table_name(r)] for r in digests}, digests)
        except InputError as error:
            raise ModelCorrupt(f"{path}: {error}") from None

    def check_tables(self) -> None:
        """Raise ModelCorrupt if the tables of buckets are not those of the plan."""
        hashes = self.plan().hashes
        for r, table in hashes.tables.items() if isinstance(hashes, LearnedBuckets) else ():
            if digest_of(table) != self.digests()[r]:
                raise ModelCorrupt(
                    f"{self.folder / BUCKETS}: the buckets of repetition {r} are not those of the plan; "
                    "copy the file again or train the model anew"
                )

    def begun_plan(self) -> Plan | None:
        """The plan with checked tables; None if there is no plan, or its tables were never written."""
        if not (self.folder / PLAN).exists() or (self.digests() and not (self.folder / BUCKETS).exists()):
            return None
        self.check_tables()
        return self.plan()

    def bare_plan(self) -> Plan:
        """The plan without its tables of buckets."""
        values = self.document(PLAN)
        try:
            return Plan.from_dict(values)
        except (KeyError, TypeError, ValueError) as error:
            raise ModelCorrupt(f"{self.folder / PLAN}: the plan is damaged ({error!r})") from None

    def digests(self) -> dict[int, str]:
        """The digests of the plan's tables of buckets, by repetition; empty if it has none."""
        return {int(r): digest for r, digest in self.document(PLAN)["hashes"].get("tables", {}).items()}

    def label_counts(self, verify: bool = True) -> LabelCounts:
        """Training rows of each label, memory-mapped."""
        arrays, _ = read_tensors(self.folder / COUNTS, verify)
        try:
            return LabelCounts(self.bare_plan().hashes.n_labels, arrays["label_counts"], arrays.get("label_ids"))
        except (KeyError, InputError) as error:
            raise ModelCorrupt(
                f"{self.folder / COUNTS}: these are not the counts of the plan's labels ({error})"
            ) from None

    def label_names(self) -> MappedNames | None:
        """Label names, memory-mapped; None if labels are named by their ids."""
        path = self.folder / LABELS
        return read_names(path) if path.exists() else None

    def scaler(self, verify: bool = True) -> Scaler:
        """The scaling of rows."""
        plan, idf = self.bare_plan(), None
        if plan.scaling == "tfidf":
            idf = read_tensors(self.folder / IDF, verify)[0].get("idf")
            if idf is None or idf.shape != (plan.n_features,) or not np.isfinite(idf).all():
                raise ModelCorrupt(f"{self.folder / IDF}: these are not the idf of the plan's features")
        return Scaler(plan.scaling, plan.n_features, idf)  # type: ignore[arg-type]  # the scaler checks the kind

    def text(self, verify: bool = True) -> TextRows | None:
        """The vectorizer of texts; None if rows are numbers."""
        settings = self.bare_plan().features
        if settings is None:
            return None
        learned = read_tensors(self.folder / VOCABULARY, verify)[0] if needs_arrays(settings) else {}
        try:
            return stored_text(settings, learned)
        except (InputError, TypeError) as error:
            raise ModelCorrupt(f"{self.folder / (VOCABULARY if learned else PLAN)}: {error}") from None

    def manifest(self) -> dict[str, Any] | None:
        """The manifest; None while the model is not complete."""
        if not (self.folder / MANIFEST).exists():
            return None
        manifest = self.document(MANIFEST)
        absent = [name for name in ("plan", "estimator", "threshold", "metrics", "files") if name not in manifest]
        if absent:
            raise ModelCorrupt(f"{self.folder / MANIFEST}: the manifest is damaged (it lacks {', '.join(absent)})")
        for name, entry in manifest["files"].items():
            if set(entry) != {"bytes", "sha256"}:
                raise ModelCorrupt(f"{self.folder / MANIFEST}: the manifest is damaged (in its entry of {name})")
        return manifest

    def plan_digest(self) -> str:
        """The SHA-256 of the plan, which all other files of the model carry."""
        return sha256_of(self.folder / PLAN)

    @property
    def format_number(self) -> int:
        """The format of the plan; all files of the folder have the same."""
        return int(self.document(PLAN)["format"])

    def document(self, name: str) -> dict[str, Any]:
        """The values of a JSON file. Raises ModelFormatUnsupported if this version does not read its format."""
        path = self.folder / name
        if not path.exists():
            raise ModelMissing(f"{self.folder}: there is no model here (no {name})")
        try:
            values: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
            number = values["format"]
        except (ValueError, KeyError, TypeError) as error:
            raise ModelCorrupt(f"{path}: the file is damaged ({error!r})") from None
        if number not in FORMATS:
            known = ", ".join(map(str, FORMATS))
            raise ModelFormatUnsupported(f"{path}: format {number}; this version of xmach reads formats {known}")
        return values
