"""A model folder as training writes it: plan first, then repetitions in any order, manifest last."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from xmach.buckets import LearnedBuckets
from xmach.config import BOTH, NONE, SOFTMAX
from xmach.data import LabelCounts
from xmach.errors import ModelCorrupt, PlanMismatch
from xmach.features import Scaler
from xmach.features.featurizers import is_plain
from xmach.files import atomic_folder, is_temporary, remove_abandoned, remove_at_once, sha256_of, write_json
from xmach.planning import Plan
from xmach.ranking import Ranking
from xmach.store.folder import (
    BUCKETS,
    COUNTS,
    IDF,
    LABELS,
    MANIFEST,
    METRICS,
    PLAN,
    VOCABULARY,
    table_name,
)  # fmt: skip
from xmach.store.names import write_names
from xmach.store.ranker_files import RankerFiles
from xmach.store.repetitions import RepetitionFiles
from xmach.store.tensors import write_tensors
from xmach.types import AnyArray, TextRows


@dataclass(frozen=True)
class ModelStore(RepetitionFiles, RankerFiles):
    """Reads and writes one model folder; picklable, and safe for several processes at once."""

    # --- the beginning: what every repetition shares

    def begin(
        self,
        plan: Plan,
        label_counts: LabelCounts,
        label_names: AnyArray | Sequence[str] | None,
        scaler: Scaler,
        text: TextRows | None = None,
    ) -> None:
        """Write the plan and what belongs to it, or resume if the same plan is there.

        `text`: the vectorizer, if the rows were texts; what it has learned is stored, too.
        If two jobs begin in one folder at once, one writes the plan and the other compares; it is never replaced.
        """
        try:
            # in this order: if the folder is in use, its plan was written first
            if self.folder.exists() and not (self.is_free() or (self.folder / PLAN).exists()):
                raise PlanMismatch(f"{self.folder} exists and is not a model folder; choose another")
            number = _format_number(plan, label_counts)
            write_json(self.folder / PLAN, {"format": number, **plan.to_dict()}, exclusive=True)
        except FileExistsError:
            differences = plan.differences(self.bare_plan())
            if not differences and self.digests() != _digests_of(plan):
                differences = ["the tables of buckets: made by another version of xmach or kind of processor"]
            if differences:
                raise PlanMismatch(
                    f"{self.folder} holds a model of another plan ({'; '.join(differences)}); "
                    "repeat its arguments to resume it, or choose another folder"
                ) from None
        if isinstance(plan.hashes, LearnedBuckets):
            if (self.folder / BUCKETS).exists():
                self.check_tables()
            else:
                tables = {table_name(r): table for r, table in plan.hashes.tables.items()}
                write_tensors(self.folder / BUCKETS, tables, {"format": self.format_number})
        if label_names is not None and not (self.folder / LABELS).exists():
            write_names(self.folder / LABELS, label_names)
        if scaler.idf is not None and not (self.folder / IDF).exists():
            write_tensors(self.folder / IDF, {"idf": scaler.idf}, {"format": self.format_number})
        if text is not None and text.arrays() and not (self.folder / VOCABULARY).exists():
            write_tensors(self.folder / VOCABULARY, text.arrays(), {"format": self.format_number})
        if not (self.folder / COUNTS).exists():
            arrays = {"label_counts": label_counts.counts}
            arrays |= {} if label_counts.ids is None else {"label_ids": label_counts.ids}
            write_tensors(self.folder / COUNTS, arrays, {"format": self.format_number})

    def is_free(self) -> bool:
        """Whether the folder is empty, except for what a writer killed in its first moment left."""
        return self.folder.is_dir() and all(map(is_temporary, self.folder.iterdir()))

    def clean(self) -> None:
        """Remove checkpoints and leftovers of a model that is complete."""
        for r in self.present():
            self._remove_progress(r)
        for path in (self.folder / "progress").glob("ranker-*.safetensors"):
            path.unlink(missing_ok=True)
        remove_at_once(self.trial_folder())
        remove_abandoned(self.folder, deep=True)
        with suppress(OSError):  # not there, or another job is still writing into it
            (self.folder / "progress").rmdir()

    # --- the end: the manifest

    def finish(
        self, estimator: str, threshold: float | None, metrics: dict[str, float], ranking: Ranking | None = None
    ) -> None:
        """Write the manifest over all files: from here on the folder is a model."""
        files = [PLAN, LABELS, COUNTS, BUCKETS, IDF, VOCABULARY] + [self.path(r).name for r in self.present()]
        if ranking is not None:
            files += self.put_ranking(ranking)
        listed = {
            name: {"bytes": (self.folder / name).stat().st_size, "sha256": sha256_of(self.folder / name)}
            for name in files
            if (self.folder / name).exists()
        }
        write_json(
            self.folder / MANIFEST,
            {
                "format": self.format_number,
                "plan": {name: value for name, value in self.document(PLAN).items() if name != "format"},
                "estimator": estimator,
                "threshold": threshold,
                "metrics": metrics,
                **({} if ranking is None else {"ranking": ranking.to_dict()}),
                "files": listed,
            },
        )
        self.clean()

    def verify(self, present: list[int]) -> None:
        """Check the SHA-256 of every file in the manifest; of the repetitions, only of those present."""
        manifest = self.manifest() or {"files": {}}
        every = range(self.bare_plan().hashes.n_repetitions)
        absent = {self.path(r).name for r in every if r not in present}
        for name, expected in manifest["files"].items():
            path = self.folder / name
            if name in absent:
                continue
            if not path.exists():
                raise ModelCorrupt(f"{path}: the manifest lists this file, but it is not there")
            if path.stat().st_size != expected["bytes"] or sha256_of(path) != expected["sha256"]:
                raise ModelCorrupt(f"{path}: the content does not match the manifest; copy it again or train it anew")

    def add_evaluation(self, evaluation: dict[str, Any]) -> None:
        """Keep an evaluation made later beside the model, outside the checksums."""
        kept = [*self.evaluations(), evaluation]
        write_json(self.folder / METRICS, {"format": self.format_number, "evaluations": kept})

    def evaluations(self) -> list[dict[str, Any]]:
        """What was kept of evaluations made later, the last one last."""
        kept: list[dict[str, Any]] = self.document(METRICS)["evaluations"] if (self.folder / METRICS).exists() else []
        return kept


@contextmanager
def replacing(folder: Path, overwrite: bool) -> Iterator[ModelStore]:
    """Yield a store to write a model to; it takes the folder's name when the block ends.

    Raises PlanMismatch if the folder holds a model, unless `overwrite` is given, or if it holds anything else.
    Raises it, too, if the folder is a mount point, because the system cannot rename a folder to it.
    """
    if os.path.ismount(os.path.realpath(folder)):
        raise PlanMismatch(f"{folder}: a mount point cannot be replaced; save into a folder inside it")
    advice = "save into another folder, or replace a model with overwrite=True"
    if folder.exists() and not ((folder / PLAN).exists() if overwrite else ModelStore(folder).is_free()):
        seen = "there is a model here already" if (folder / PLAN).exists() else "this is not a model folder"
        raise PlanMismatch(f"{folder}: {seen}; {advice}")
    remove_abandoned(folder)
    try:
        with atomic_folder(folder, replace=overwrite) as new:
            yield ModelStore(new)
    except FileExistsError:
        raise PlanMismatch(f"{folder}: another process has written here in the meantime; {advice}") from None


def _digests_of(plan: Plan) -> dict[int, str]:
    return {int(r): digest for r, digest in plan.to_dict()["hashes"].get("tables", {}).items()}


def _format_number(plan: Plan, label_counts: LabelCounts) -> int:
    """The lowest format that has everything in the folder, so that older versions read all that they can."""
    if plan.ranker != NONE:
        return 7
    if plan.linear is not None:
        return 6 if plan.linear.linear_loss in (SOFTMAX, BOTH) else 5
    if isinstance(plan.hashes, LearnedBuckets):
        return 4
    if not is_plain(plan.features):
        return 3
    return 1 if label_counts.ids is None else 2
