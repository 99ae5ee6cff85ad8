"""The files of repetitions: finished ones, checkpoints, and finished parts of those in training."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from xmach.errors import InputError, ModelCorrupt, NotStorable
from xmach.models import LinearModel, NetworkModel
from xmach.models.pages import Region
from xmach.planning import Plan
from xmach.store.folder import ModelFolder, check_belongs
from xmach.store.tensors import map_tensors, read_tensors, write_tensors
from xmach.types import AnyArray, BucketModel


@dataclass(frozen=True)
class RepetitionFiles(ModelFolder):
    """Reads and writes the files of repetitions."""

    def path(self, repetition: int) -> Path:
        """The file of a finished repetition."""
        return self.folder / f"repetition-{repetition:03d}.safetensors"

    def has(self, repetition: int) -> bool:
        """Whether the repetition is finished and stored."""
        return self.path(repetition).exists()

    def check_present(self) -> None:
        """Raise ModelCorrupt for repetitions of another model, before hours of training: only headers are read."""
        for r in self.present():
            check_belongs(self.path(r), read_tensors(self.path(r), verify=False)[1], self._identity(r))

    def present(self) -> list[int]:
        """The repetitions that are stored."""
        return [r for r in range(self.bare_plan().hashes.n_repetitions) if self.has(r)]

    def put(self, repetition: int, model: BucketModel, history: list[dict[str, float]]) -> None:
        """Store a finished repetition and remove its checkpoint."""
        if not isinstance(model, NetworkModel | LinearModel):
            raise NotStorable(f"a bucket model of the kind {model.kind!r} is not plain arrays: it cannot be saved")
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
        """A stored bucket model, memory-mapped, and the place of a network's first layer in its file."""
        arrays, about, regions = map_tensors(self.path(repetition), verify)
        check_belongs(self.path(repetition), about, self._identity(repetition))
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

    # --- checkpoints and finished parts

    def _progress_path(self, repetition: int) -> Path:
        return self.folder / "progress" / f"repetition-{repetition:03d}.safetensors"

    def load_progress(self, repetition: int) -> Mapping[str, AnyArray] | None:
        """The last checkpoint; None if there is none."""
        path = self._progress_path(repetition)
        if not path.exists():
            return None
        arrays, about = read_tensors(path, verify=True)
        check_belongs(path, about, self._identity(repetition))
        return arrays

    def save_progress(self, repetition: int, state: Mapping[str, AnyArray]) -> None:
        """Replace the checkpoint, unless another process has finished the repetition meanwhile."""
        if not self.has(repetition):
            about = {"format": self.format_number} | self._identity(repetition)
            write_tensors(self._progress_path(repetition), state, about)
            if self.has(repetition):  # finished while this was written
                self._remove_progress(repetition)

    def has_part(self, repetition: int, part: int) -> bool:
        """Whether a finished part of a repetition is kept."""
        return self._part_path(repetition, part).exists()

    def load_part(self, repetition: int, part: int) -> Mapping[str, AnyArray] | None:
        """A finished part of a repetition; None if there is none."""
        path = self._part_path(repetition, part)
        if not path.exists():
            return None
        arrays, about = read_tensors(path, verify=True)
        check_belongs(path, about, self._identity(repetition) | {"part": part})
        return arrays

    def drop_damaged_parts(self, sizes: Sequence[int]) -> list[Path]:
        """Remove finished parts that cannot be used, and return their paths. They can be trained again.

        `sizes`: the buckets of each part; a part with another number of them was made by another version of xmach.
        Raises ModelCorrupt if a part belongs to another model, because somebody has copied it here.
        """
        dropped = []
        for path in sorted((self.folder / "progress").glob("repetition-*-part-*.safetensors")):
            repetition, part = (int(number) for number in re.findall(r"\d+", path.name))
            try:
                arrays, about = read_tensors(path, verify=True)
            except ModelCorrupt:
                arrays, about = {}, self._identity(repetition) | {"part": part}
            check_belongs(path, about, self._identity(repetition) | {"part": part})
            if part >= len(sizes) or "biases" not in arrays or len(arrays["biases"]) != sizes[part]:
                path.unlink(missing_ok=True)
                dropped.append(path)
        return dropped

    def put_part(self, repetition: int, part: int, arrays: Mapping[str, AnyArray]) -> None:
        """Store a finished part of a repetition, unless another process has finished the repetition meanwhile."""
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

    def _identity(self, repetition: int) -> dict[str, Any]:
        """What ties a repetition's file to its place in this model."""
        return {"repetition": repetition, "plan": self.plan_digest()}
