"""The plan of a model: everything that decides what its repetitions will be, fixed before the first one is trained."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from xmach.buckets import Buckets, LearnedBuckets, UniversalHashes
from xmach.config import NETWORK, NONE, PRECISION, RANDOM, LinearSettings, NetworkSettings
from xmach.types import AnyArray


@dataclass(frozen=True, repr=False)
class Plan:
    """K, B, R, hashes, network, loss, scaling, features and seed; the same arguments and data give the same plan."""

    hashes: Buckets
    n_features: int
    settings: NetworkSettings
    scaling: str  # none, l2 or tfidf: `auto` has been decided
    multilabel: bool
    mean_labels: float  # labels a training row
    seed: int
    features: dict[str, Any] | None = None  # how text becomes rows; None: rows are given as numbers
    columns: dict[str, Any] | None = None  # what was what in the table that was trained on
    data: str = ""  # fingerprint of the training rows
    validation: str = ""  # fingerprint of the validation rows
    learner: str = NETWORK  # or the kind of a wrapped classifier
    bucketing: str = RANDOM  # or `mixed`, `clustered`: some repetitions' buckets are tables
    linear: LinearSettings | None = None  # of the learner "linear", which has no use for `settings`
    label_text: str = ""  # fingerprint of the texts of labels
    ranker: str = NONE  # what ranks the shortlist again
    ranker_bytes: int | None = None  # the most that it may take on disk
    ranker_goal: str = PRECISION  # what its weights are chosen for

    def __repr__(self) -> str:
        sizes = f"{self.hashes.n_labels:,} labels, {self.hashes.n_repetitions} repetitions"
        return f"<Plan: {sizes} of {self.hashes.n_buckets:,} buckets, {self.bucketing}, learner={self.learner!r}>"

    def to_dict(self) -> dict[str, Any]:
        """The plan as plain values; of tables their digests."""
        # left out where it says nothing: such plans are those of versions that knew no other buckets
        told: dict[str, Any] = {} if self.bucketing == RANDOM else {"bucketing": self.bucketing}
        if self.label_text:
            told["label_text"] = self.label_text
        if self.ranker != NONE:
            told |= {"ranker": self.ranker, "ranker_bytes": self.ranker_bytes}
        if self.ranker_goal != PRECISION:
            told["ranker_goal"] = self.ranker_goal
        return told | {
            "n_labels": self.hashes.n_labels,
            "n_buckets": self.hashes.n_buckets,
            "n_repetitions": self.hashes.n_repetitions,
            "n_features": self.n_features,
            "multilabel": self.multilabel,
            "mean_labels": self.mean_labels,
            "learner": self.learner,
            **({"network": self.settings.to_dict()} if self.linear is None else {"linear": self.linear.to_dict()}),
            "scaling": self.scaling,
            "features": self.features,
            "columns": self.columns,
            "seed": self.seed,
            "data": self.data,
            "validation": self.validation,
            "hashes": self.hashes.to_dict(),
        }

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Plan:
        """The inverse of `to_dict`, but for tables of buckets, which `with_tables` adds."""
        return cls(
            hashes=UniversalHashes.from_dict(values["hashes"]),
            n_features=int(values["n_features"]),
            settings=NetworkSettings() if "linear" in values else NetworkSettings.from_dict(values["network"]),
            scaling=str(values["scaling"]),
            multilabel=bool(values["multilabel"]),
            mean_labels=float(values["mean_labels"]),
            seed=int(values["seed"]),
            features=values["features"],
            columns=values.get("columns"),  # not in the first models of format 1
            data=str(values["data"]),
            validation=str(values["validation"]),
            learner=str(values["learner"]),
            bucketing=str(values.get("bucketing", RANDOM)),
            linear=LinearSettings.from_dict(values["linear"]) if "linear" in values else None,
            label_text=str(values.get("label_text", "")),
            ranker=str(values.get("ranker", NONE)),
            ranker_bytes=values.get("ranker_bytes"),
            ranker_goal=str(values.get("ranker_goal", PRECISION)),
        )

    def with_tables(self, tables: Mapping[int, AnyArray], digests: Mapping[int, str]) -> Plan:
        """The plan with tables of buckets; their digests are taken as they are."""
        assert isinstance(self.hashes, UniversalHashes)
        return replace(self, hashes=LearnedBuckets(self.hashes, tables, digests))

    def of_repetition(self, repetition: int) -> Plan:
        """The plan without tables that one repetition does not need: it travels to a worker."""
        return replace(self, hashes=self.hashes.only(repetition))

    def differences(self, other: Plan) -> list[str]:
        """What differs between this plan and another, in words; of tables of buckets nothing."""
        return _told(_flat(self.to_dict()), _flat(other.to_dict()))


def _told(mine: dict[str, Any], theirs: dict[str, Any], of: str = "") -> list[str]:
    """The entries that differ; of text features and columns only what differs in them, and of two kinds the kinds."""
    told: list[str] = []
    for name in mine | theirs:  # an entry may be left out where it says nothing
        value, other = mine.get(name), theirs.get(name)
        if isinstance(value, dict) and isinstance(other, dict) and value.get("kind") == other.get("kind"):
            told += _told(value, other, f"{name} ")
        elif isinstance(value, dict) and isinstance(other, dict):
            told.append(f"{name}: {value['kind']} here, {other['kind']} there")
        elif value != other:
            told.append(f"{of}{name}: {value} here, {other} there")
    return told


def _flat(values: dict[str, Any]) -> dict[str, Any]:
    """One level of names; the drawn hashes are left out, as they follow from the rest."""
    flat = {name: value for name, value in values.items() if name not in ("network", "linear", "hashes")}
    return {
        "bucketing": RANDOM,
        "label_text": "no texts",
        "ranker": NONE,
        "ranker_bytes": None,
        "ranker_goal": PRECISION,
        **flat,
        **values.get("network", {}),
        **values.get("linear", {}),
    }
