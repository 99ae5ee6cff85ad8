"""The files of the second stage, and the pieces that training keeps of it until the model is finished."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from xmach.errors import InputError, ModelCorrupt
from xmach.ranking import Fusion, LabelWeights, Profiles, Ranking, ShortlistSizes, log_frequencies
from xmach.store.folder import MANIFEST, PROFILES, RANKER, TEXTS, ModelFolder, check_belongs
from xmach.store.tensors import read_tensors, write_tensors
from xmach.types import AnyArray


@dataclass(frozen=True)
class RankerFiles(ModelFolder):
    """Reads and writes the files of the ranker."""

    def has_piece(self, name: str) -> bool:
        """Whether a finished shard of the ranker's training is kept."""
        return self._piece_path(name).exists()

    def piece(self, name: str) -> Mapping[str, AnyArray]:
        """A finished shard of the ranker's training."""
        arrays, about = read_tensors(self._piece_path(name), verify=True)
        check_belongs(self._piece_path(name), about, {"plan": self.plan_digest(), "piece": name})
        return arrays

    def put_piece(self, name: str, arrays: Mapping[str, AnyArray]) -> None:
        """Store a finished shard of the ranker's training."""
        about = {"format": self.format_number, "piece": name, "plan": self.plan_digest()}
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
        """The folder of the trial model that chooses the ranker's settings."""
        return self.folder / "progress" / "trial"

    def put_ranking(self, ranking: Ranking) -> list[str]:
        """Store the arrays of the second stage, and return their files; its weights are in the manifest."""
        about = {"format": self.format_number, "plan": self.plan_digest()}
        files = {PROFILES: ranking.profiles, TEXTS: ranking.texts, RANKER: ranking.ranker}
        parts = {name: part for name, part in files.items() if part is not None}
        for name, part in parts.items():
            write_tensors(self.folder / name, part.arrays(), about | {"file": name})
        return list(parts)

    def _piece_path(self, name: str) -> Path:
        return self.folder / "progress" / f"ranker-{name}.safetensors"

    def ranking(self, verify: bool = True) -> Ranking | None:
        """The second stage of a finished model, memory-mapped; None if it has none."""
        manifest = self.manifest()
        if manifest is None:
            return None
        listed = [name for name in (PROFILES, TEXTS, RANKER) if name in manifest["files"]]
        if manifest.get("ranking") is None:
            if listed:
                raise ModelCorrupt(f"{self.folder / MANIFEST}: there is {listed[0]}, but no weights of a ranker")
            return None
        values = manifest["ranking"]
        try:
            fusion, sizes = Fusion.from_dict(values["fusion"]), ShortlistSizes.from_dict(values["shortlist"])
            cost = float(values["cost"])
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise ModelCorrupt(f"{self.folder / MANIFEST}: the ranker's settings are damaged ({error!r})") from None
        ranking = Ranking(
            fusion,
            log_frequencies(self.label_counts(verify)),
            profiles=self._part(PROFILES, Profiles, verify) if PROFILES in listed else None,
            texts=self._part(TEXTS, Profiles, verify) if TEXTS in listed else None,
            ranker=self._part(RANKER, LabelWeights, verify) if RANKER in listed else None,
            sizes=sizes,
            cost=cost,
        )
        if absent := ranking.absent_parts():
            raise ModelCorrupt(f"{self.folder / MANIFEST}: the ranker's score needs {', '.join(absent)}")
        return ranking

    def _part(self, name: str, kind: Any, verify: bool) -> Any:
        """One part of the second stage, of a class that has `from_arrays`."""
        path, plan = self.folder / name, self.bare_plan()
        arrays, about = read_tensors(path, verify)
        check_belongs(path, about, {"plan": self.plan_digest()} | ({"file": name} if "file" in about else {}))
        try:
            made = kind.from_arrays(arrays)
        except InputError as error:
            raise ModelCorrupt(f"{path}: {error}; copy it again or train it anew") from None
        expected = (plan.n_features, plan.hashes.n_labels)
        if (made.n_features, made.n_labels) != expected:
            raise ModelCorrupt(f"{path}: the features and labels are not those of the plan, {expected}")
        return made
