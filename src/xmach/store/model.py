"""A model folder as training writes it: plan first, then repetitions in any order, manifest last."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from xmach.buckets import LearnedBuckets
from xmach.config import BOTH, NONE, SOFTMAX
from xmach.data import LabelCounts
from xmach.errors import InputError, ModelCorrupt, NotStorable, PlanMismatch
from xmach.features import Scaler
from xmach.features.featurizers import is_plain
from xmach.files import atomic_folder, is_temporary, remove_abandoned, remove_at_once, sha256_of, write_json
from xmach.models import LinearModel, NetworkModel
from xmach.models.pages import Region
from xmach.planning import Plan
from xmach.ranking import Fusion, LabelWeights, Profiles, Ranking, ShortlistSizes, log_frequencies
from xmach.store.folder import (
    BUCKETS,
    COUNTS,
    IDF,
    LABELS,
    MANIFEST,
    METRICS,
    PLAN,
    PROFILES,
    RANKER,
    TEXTS,
    VOCABULARY,
    ModelFolder,
    table_name,
)  # fmt: skip
from xmach.store.names import write_names
from xmach.store.tensors import map_tensors, read_tensors, write_tensors
from xmach.types import AnyArray, BucketModel, TextRows


@dataclass(frozen=True)
class ModelStore(ModelFolder):
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
        """Write the plan and what belongs to it; or find the same plan there and go on with it.

        `text`: what made the rows, where they were texts; what it has learned is stored, too.
        Of two jobs that begin in one folder at once, one writes the plan and the other compares; it is never replaced.
        """
        try:
            # in this order: whoever finds the folder in use finds the plan that was written first
            if self.folder.exists() and not (self.is_free() or (self.folder / PLAN).exists()):
                raise PlanMismatch(f"{self.folder} is there already and is no model folder; choose another")
            number = _format_number(plan, label_counts)
            write_json(self.folder / PLAN, {"format": number, **plan.to_dict()}, exclusive=True)
        except FileExistsError:
            differences = plan.differences(self.bare_plan())
            if not differences and self.digests() != _digests_of(plan):
                differences = ["the tables of buckets: made by another version of xmach or kind of processor"]
            if differences:
                raise PlanMismatch(
                    f"{self.folder} holds a model of another plan ({'; '.join(differences)}); "
                    "repeat its arguments to go on with it, or choose another folder"
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

    # --- repetitions: the Sink that training writes to

    def path(self, repetition: int) -> Path:
        """The file of a finished repetition."""
        return self.folder / f"repetition-{repetition:03d}.safetensors"

    def has(self, repetition: int) -> bool:
        """Whether the repetition is finished and stored."""
        return self.path(repetition).exists()

    def check_present(self) -> None:
        """Refuse repetitions of another model, by their headers: before hours of training, not after."""
        for r in self.present():
            self._check_identity(self.path(r), r, read_tensors(self.path(r), verify=False)[1])

    def present(self) -> list[int]:
        """The repetitions that are there."""
        return [r for r in range(self.bare_plan().hashes.n_repetitions) if self.has(r)]

    def put(self, repetition: int, model: BucketModel, history: list[dict[str, float]]) -> None:
        """Store a finished repetition and remove its checkpoint."""
        if not isinstance(model, NetworkModel | LinearModel):
            raise NotStorable(f"a bucket model of the kind {model.kind!r} is no plain arrays: it cannot be saved")
        about = {"format": self.format_number, "kind": model.kind, "loss": model.loss, "history": history}
        if isinstance(model, LinearModel):
            about["normalised"] = model.normalised
        if not self.has(repetition):
            write_tensors(self.path(repetition), model.arrays(), about | self._identity(repetition))
        self._remove_progress(repetition)

    def model(self, repetition: int, verify: bool = True) -> NetworkModel | LinearModel:
        """A stored bucket model, memory-mapped."""
        return self.mapped_model(repetition, verify)[0]

    def mapped_model(self, repetition: int, verify: bool = True) -> tuple[NetworkModel | LinearModel, Region | None]:
        """A stored bucket model, memory-mapped, and where in its file the first layer of a network lies."""
        arrays, about, regions = map_tensors(self.path(repetition), verify)
        self._check_identity(self.path(repetition), repetition, about)
        plan = self.bare_plan()
        if plan.linear is not None:
            return self._linear_model(plan, repetition, arrays, about), None
        model = NetworkModel.from_arrays(arrays, about["loss"])
        expected = (plan.n_features, *plan.settings.hidden, plan.hashes.n_buckets)
        if tuple(w.shape for w in model.weights) != tuple(pairwise(expected)):
            raise ModelCorrupt(f"{self.path(repetition)}: the layers are not those of the plan, {expected}")
        return model, regions["weights.0"]

    def _linear_model(
        self, plan: Plan, repetition: int, arrays: Mapping[str, AnyArray], about: dict[str, Any]
    ) -> LinearModel:
        path = self.path(repetition)
        try:
            model = LinearModel.from_arrays(arrays, about["loss"], about["normalised"])
        except (KeyError, InputError) as error:
            raise ModelCorrupt(
                f"{path}: these are not linear buckets ({error}); copy it again or train it anew"
            ) from None
        expected = plan.n_features, plan.hashes.n_buckets
        if (model.n_features, model.n_buckets) != expected:
            raise ModelCorrupt(f"{path}: the features and buckets are not those of the plan, {expected}")
        return model

    def history(self, repetition: int) -> list[dict[str, float]]:
        """The losses of each epoch of a stored repetition."""
        _, about = read_tensors(self.path(repetition), verify=False)
        history: list[dict[str, float]] = about["history"]
        return history

    # --- checkpoints

    def _progress_path(self, repetition: int) -> Path:
        return self.folder / "progress" / f"repetition-{repetition:03d}.safetensors"

    def load_progress(self, repetition: int) -> Mapping[str, AnyArray] | None:
        """The last checkpoint; None where there is none."""
        path = self._progress_path(repetition)
        if not path.exists():
            return None
        arrays, about = read_tensors(path, verify=True)
        self._check_identity(path, repetition, about)
        return arrays

    def save_progress(self, repetition: int, state: Mapping[str, AnyArray]) -> None:
        """Replace the checkpoint; not of a repetition that another process has finished meanwhile."""
        if not self.has(repetition):
            about = {"format": self.format_number} | self._identity(repetition)
            write_tensors(self._progress_path(repetition), state, about)
            if self.has(repetition):  # finished while this was written
                self._remove_progress(repetition)

    def has_part(self, repetition: int, part: int) -> bool:
        """Whether a finished part of a repetition is kept."""
        return self._part_path(repetition, part).exists()

    def load_part(self, repetition: int, part: int) -> Mapping[str, AnyArray] | None:
        """A finished part of a repetition; None where there is none."""
        path = self._part_path(repetition, part)
        if not path.exists():
            return None
        arrays, about = read_tensors(path, verify=True)
        self._check_identity(path, repetition, about, {"part": part})
        return arrays

    def drop_damaged_parts(self, sizes: Sequence[int]) -> list[Path]:
        """Remove finished parts that cannot be used, and return their paths. They can be trained again.

        `sizes`: the buckets of each part; a part that has another number of them was made by another version of xmach.
        Raises ModelCorrupt if a part belongs to another model: somebody has copied it here.
        """
        dropped = []
        for path in sorted((self.folder / "progress").glob("repetition-*-part-*.safetensors")):
            repetition, part = (int(number) for number in re.findall(r"\d+", path.name))
            try:
                arrays, about = read_tensors(path, verify=True)
            except ModelCorrupt:
                arrays, about = {}, self._identity(repetition) | {"part": part}
            self._check_identity(path, repetition, about, {"part": part})
            if part >= len(sizes) or "biases" not in arrays or len(arrays["biases"]) != sizes[part]:
                path.unlink(missing_ok=True)
                dropped.append(path)
        return dropped

    def put_part(self, repetition: int, part: int, arrays: Mapping[str, AnyArray]) -> None:
        """Store a finished part of a repetition; not of one that another process has finished meanwhile."""
        if not self.has(repetition):
            about = {"format": self.format_number, "part": part} | self._identity(repetition)
            write_tensors(self._part_path(repetition, part), arrays, about)
            if self.has(repetition):  # finished while this was written
                self._remove_progress(repetition)

    def _part_path(self, repetition: int, part: int) -> Path:
        return self.folder / "progress" / f"repetition-{repetition:03d}-part-{part:04d}.safetensors"

    def _remove_progress(self, repetition: int) -> None:
        """Remove the checkpoint and the parts of a finished repetition."""
        self._progress_path(repetition).unlink(missing_ok=True)
        for path in (self.folder / "progress").glob(f"repetition-{repetition:03d}-part-*.safetensors"):
            path.unlink(missing_ok=True)

    # --- the ranker: finished shards, kept until the model is finished

    def has_piece(self, name: str) -> bool:
        """Whether a finished shard of the ranker's training is kept."""
        return self._piece_path(name).exists()

    def piece(self, name: str) -> Mapping[str, AnyArray]:
        """A finished shard of the ranker's training."""
        arrays, about = read_tensors(self._piece_path(name), verify=True)
        self._check_shared(self._piece_path(name), about, {"piece": name})
        return arrays

    def put_piece(self, name: str, arrays: Mapping[str, AnyArray]) -> None:
        """Store a finished shard of the ranker's training."""
        about = {"format": self.format_number, "piece": name, "plan": sha256_of(self.folder / PLAN)}
        write_tensors(self._piece_path(name), arrays, about)

    def drop_damaged_pieces(self) -> list[Path]:
        """Remove finished shards that cannot be read, and return their paths. They can be trained again."""
        dropped = []
        for path in sorted((self.folder / "progress").glob("ranker-*.safetensors")):
            try:
                read_tensors(path, verify=True)
            except ModelCorrupt:
                path.unlink(missing_ok=True)
                dropped.append(path)
        return dropped

    def trial_folder(self) -> Path:
        """Where the model lies that chooses the ranker's settings."""
        return self.folder / "progress" / "trial"

    def put_ranking(self, ranking: Ranking) -> None:
        """Store the arrays of the second stage; its weights are in the manifest."""
        about = {"format": self.format_number, "plan": sha256_of(self.folder / PLAN)}
        for name, part in _files_of(ranking).items():
            if part is not None:
                write_tensors(self.folder / name, part.arrays(), about | {"file": name})

    def _piece_path(self, name: str) -> Path:
        return self.folder / "progress" / f"ranker-{name}.safetensors"

    def _check_shared(self, path: Path, about: dict[str, Any], also: Mapping[str, Any]) -> None:
        for name, expected in {"plan": sha256_of(self.folder / PLAN), **also}.items():
            if about.get(name) != expected:
                raise ModelCorrupt(f"{path}: this file belongs to another model (its {name} differs)")

    def ranking(self, verify: bool = True) -> Ranking | None:
        """The second stage of a finished model, memory-mapped; None if it has none."""
        manifest = self.manifest()
        if manifest is None or manifest.get("ranking") is None:
            listed = (
                [] if manifest is None else [name for name in (PROFILES, TEXTS, RANKER) if name in manifest["files"]]
            )
            if listed:
                raise ModelCorrupt(f"{self.folder / MANIFEST}: there is {listed[0]}, but no weights of a ranker")
            return None
        values, plan = manifest["ranking"], self.bare_plan()
        expected = (plan.n_features, plan.hashes.n_labels)

        def part(name: str, kind: Any) -> Any:
            if name not in manifest["files"]:
                return None
            path = self.folder / name
            arrays, about = read_tensors(path, verify)
            self._check_shared(path, about, {"file": name} if "file" in about else {})
            try:
                made = kind.from_arrays(arrays)
            except InputError as error:
                raise ModelCorrupt(f"{path}: {error}; copy it again or train it anew") from None
            if (made.n_features, made.n_labels) != expected:
                raise ModelCorrupt(f"{path}: the features and labels are not those of the plan, {expected}")
            return made

        try:
            fusion, sizes = Fusion.from_dict(values["fusion"]), ShortlistSizes.from_dict(values["shortlist"])
            cost = float(values["cost"])
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise ModelCorrupt(f"{self.folder / MANIFEST}: the ranker's settings are damaged ({error!r})") from None
        ranking = Ranking(
            fusion,
            log_frequencies(self.label_counts(verify)),
            profiles=part(PROFILES, Profiles),
            texts=part(TEXTS, Profiles),
            ranker=part(RANKER, LabelWeights),
            sizes=sizes,
            cost=cost,
        )
        if absent := ranking.absent_parts():
            raise ModelCorrupt(f"{self.folder / MANIFEST}: the ranker's score needs {', '.join(absent)}")
        return ranking

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
            self.put_ranking(ranking)
            files += [name for name, part in _files_of(ranking).items() if part is not None]
            also = {"ranking": ranking.to_dict()}
        else:
            also = {}
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
                **also,
                "files": listed,
            },
        )
        self.clean()

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

    def verify(self, present: list[int]) -> None:
        """Check every file that the manifest lists, of the repetitions only those present, against its SHA-256."""
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

    def _identity(self, repetition: int) -> dict[str, Any]:
        """What ties a repetition's file to its place in this model."""
        return {"repetition": repetition, "plan": sha256_of(self.folder / PLAN)}

    def _check_identity(
        self, path: Path, repetition: int, about: dict[str, Any], also: Mapping[str, Any] | None = None
    ) -> None:
        for name, expected in (self._identity(repetition) | dict(also or {})).items():
            if about.get(name) != expected:
                raise ModelCorrupt(f"{path}: this file belongs to another model (its {name} differs)")


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
        seen = "there is a model here already" if (folder / PLAN).exists() else "this is no model folder"
        raise PlanMismatch(f"{folder}: {seen}; {advice}")
    remove_abandoned(folder)
    try:
        with atomic_folder(folder, replace=overwrite) as new:
            yield ModelStore(new)
    except FileExistsError:
        raise PlanMismatch(f"{folder}: another process has written here in the meantime; {advice}") from None


def _files_of(ranking: Ranking) -> dict[str, Profiles | LabelWeights | None]:
    """The arrays of the second stage by the names of their files."""
    return {PROFILES: ranking.profiles, TEXTS: ranking.texts, RANKER: ranking.ranker}


def _digests_of(plan: Plan) -> dict[int, str]:
    return {int(r): digest for r, digest in plan.to_dict()["hashes"].get("tables", {}).items()}


def _format_number(plan: Plan, label_counts: LabelCounts) -> int:
    """The least that knows what will be in the folder, so that older versions read all that they can."""
    if plan.ranker != NONE:
        return 7
    if plan.linear is not None:
        return 6 if plan.linear.linear_loss in (SOFTMAX, BOTH) else 5
    if isinstance(plan.hashes, LearnedBuckets):
        return 4
    if not is_plain(plan.features):
        return 3
    return 1 if label_counts.ids is None else 2
