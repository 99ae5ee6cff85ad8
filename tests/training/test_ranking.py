"""Training of the second stage: what is stored, the same bytes whatever runs it, resumed wherever it was stopped."""

from __future__ import annotations

import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.checks.small_shards import small_shards
from tests.conftest import made_up

from xmach.data import Dataset, LabelTexts
from xmach.errors import Interrupted, ModelCorrupt
from xmach.ranking import weighing
from xmach.store import ModelStore, load
from xmach.training import MachConfig, StageProgress, fit
from xmach.training import held_out as held_out_module
from xmach.training import ranker_parts as parts_module
from xmach.training.ranking import COSTS
from xmach.types import SparseRows

DATA = made_up(600, 80, 60)
ASKED = made_up(600, 80, 60).slice(0, 50)
CONFIG = MachConfig(learner="linear", n_buckets=20, n_repetitions=3, cost=1.0, passes=3, ranker="linear", seed=1)
LOCAL = {"executor": "local"}


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.fixture(scope="module", autouse=True)
def every_part_in_small_shards() -> Iterator[None]:
    with small_shards(256):
        yield


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory, every_part_in_small_shards: None) -> Path:
    folder = tmp_path_factory.mktemp("undisturbed") / "model"
    fit(DATA, CONFIG, folder, **LOCAL)
    return folder


def test_what_is_stored(undisturbed: Path) -> None:
    files = contents(undisturbed)
    assert {"profiles.safetensors", "ranker.safetensors"} <= set(files)
    assert not any(name.startswith("progress") for name in files)
    manifest = json.loads(files["manifest.json"])
    assert manifest["format"] == 7
    assert set(manifest["ranking"]) == {"fusion", "shortlist", "cost"}
    assert manifest["ranking"]["cost"] in COSTS
    assert json.loads(files["plan.json"])["ranker"] == "linear"
    listed = set(manifest["files"])
    assert {name for name in files if name.endswith(".safetensors")} == {n for n in listed if "safetensors" in n}


def test_in_memory_and_in_a_folder_give_the_same_answers(undisturbed: Path) -> None:
    memory = fit(DATA, CONFIG, **LOCAL).predictor
    assert memory is not None
    stored, kept = load(undisturbed).top_k(ASKED.features, 10), memory.top_k(ASKED.features, 10)
    assert stored.ids.tolist() == kept.ids.tolist()
    assert stored.scores.tolist() == kept.scores.tolist()


@pytest.mark.parametrize("workers", [1, 2])
def test_same_bytes_whatever_the_workers_and_shards(
    tmp_path: Path, undisturbed: Path, workers: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parts_module, "POOLED_OCCURRENCES", 0)  # otherwise processes are not started for so few rows
    monkeypatch.setattr(parts_module, "LEAST_SHARD_LABELS", 23)
    fit(DATA, CONFIG, tmp_path / "model", executor="pool" if workers > 1 else "local", workers=workers)
    assert contents(tmp_path / "model") == contents(undisturbed)


@pytest.mark.parametrize("workers", [1, 2])
def test_label_texts_give_the_same_bytes_whatever_the_workers(
    tmp_path: Path, workers: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parts_module, "POOLED_OCCURRENCES", 0)
    texts = LabelTexts.of(np.arange(40), DATA.features.slice(0, 40))
    executor = "pool" if workers > 1 else "local"
    fit(DATA, CONFIG, tmp_path / "model", executor=executor, workers=workers, label_text=texts)
    memory = fit(DATA, CONFIG, **LOCAL, label_text=texts).predictor
    assert memory is not None
    assert memory.ranking is not None
    assert memory.ranking.texts is not None
    stored = load(tmp_path / "model").ranking
    assert stored is not None
    assert stored.texts is not None
    assert stored.to_dict() == memory.ranking.to_dict()
    for name, array in memory.ranking.texts.arrays().items():
        assert stored.texts.arrays()[name].tobytes() == array.tobytes(), name


class Stopped(Exception):
    pass


def when(stage: str, act: Callable[[], None]) -> Callable[[StageProgress], None]:
    acted: list[str] = []

    def handle(progress: StageProgress) -> None:
        if progress.stage == stage and not acted:
            acted.append(stage)
            act()

    return handle


def give_up() -> None:
    raise Stopped


def terminate() -> None:
    os.kill(os.getpid(), signal.SIGTERM)


STAGES = ("label profiles", "shortlists", "classifiers of labels")


@pytest.mark.parametrize("stage", [*STAGES, *(f"trial: {stage}" for stage in STAGES), "trial: training"])
def test_stopped_in_any_stage_and_resumed(tmp_path: Path, undisturbed: Path, stage: str) -> None:
    with pytest.raises(Stopped):
        fit(DATA, CONFIG, tmp_path / "model", **LOCAL, on_progress=when(stage, give_up))
    assert not (tmp_path / "model" / "manifest.json").exists()
    fit(DATA, CONFIG, tmp_path / "model", **LOCAL)
    assert contents(tmp_path / "model") == contents(undisturbed)


def test_a_signal_stops_between_shards_and_says_how_to_resume(
    tmp_path: Path, undisturbed: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with pytest.raises(Interrupted, match=r"stopped before the ranker was finished; .* run it again to resume"):
        fit(DATA, CONFIG, tmp_path / "model", **LOCAL, on_progress=when("shortlists", terminate))
    assert caplog.messages[-1] == "stopping: finished shards of the ranker are kept (press again to stop at once)"
    fit(DATA, CONFIG, tmp_path / "model", **LOCAL)
    assert contents(tmp_path / "model") == contents(undisturbed)


@pytest.mark.parametrize("damage", ["flipped", "cut off"])
def test_a_damaged_shard_is_made_again_with_a_warning(tmp_path: Path, undisturbed: Path, damage: str) -> None:
    with pytest.raises(Stopped):
        fit(DATA, CONFIG, tmp_path / "model", **LOCAL, on_progress=when("classifiers of labels", give_up))
    shard = tmp_path / "model" / "progress" / "ranker-profiles-000000000-000000016.safetensors"
    content = shard.read_bytes()
    shard.write_bytes(content[:-3] + bytes([content[-3] ^ 1]) + content[-2:] if damage == "flipped" else content[:100])
    with pytest.warns(
        UserWarning, match="ranker-profiles-000000000-000000016.safetensors is damaged: this shard is made again"
    ):
        fit(DATA, CONFIG, tmp_path / "model", **LOCAL)
    assert contents(tmp_path / "model") == contents(undisturbed)


def test_repetitions_are_those_of_a_model_without_a_ranker(tmp_path: Path, undisturbed: Path) -> None:
    fit(DATA, replace(CONFIG, ranker="none"), tmp_path / "plain", **LOCAL)
    plain, ranked = load(tmp_path / "plain"), load(undisturbed)
    assert plain.ranking is None
    assert plain.top_k(ASKED.features, 10).ids.tolist() == ranked.top_k(ASKED.features, 10, stage="mach").ids.tolist()
    assert json.loads((tmp_path / "plain" / "plan.json").read_text())["format"] == 5  # as before


def test_validation_rows_choose(tmp_path: Path) -> None:
    stages = set[str]()
    fitted = fit(
        DATA.slice(100, 600), CONFIG, tmp_path / "model", **LOCAL, validation=DATA.slice(0, 100),
        on_progress=lambda progress: stages.add(progress.stage),
    )  # fmt: skip
    assert not any(stage.startswith("trial") for stage in stages)
    assert fitted.predictor is not None
    assert fitted.predictor.ranking is not None
    assert fitted.predictor.threshold is not None


@pytest.fixture
def nothing_helps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(weighing, "_LEAST_GAIN", 10.0)


@pytest.mark.usefixtures("nothing_helps")
@pytest.mark.parametrize("options", [{}, {"validation": DATA.slice(0, 100)}], ids=["trial", "validation"])
@pytest.mark.parametrize("kind", ["linear", "profile"])
def test_a_ranker_that_does_not_help_is_left_out(
    tmp_path: Path,
    options: dict[str, Any],
    kind: str,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level("INFO", logger="xmach")
    monkeypatch.setattr(weighing, "_LEAST_GAIN", 10.0)
    config, folder = replace(CONFIG, ranker=kind), tmp_path / "model"
    memory, stored = fit(DATA, config, **LOCAL, **options).predictor, fit(DATA, config, folder, **LOCAL, **options)
    assert caplog.messages[-1] == (
        "ranker: no part helped the sketch's own score on held-out rows, so the model has none"
    )
    assert memory is not None
    assert memory.ranking is load(folder).ranking is None
    assert stored.complete
    assert not {"profiles.safetensors", "ranker.safetensors"} & set(contents(folder))
    assert memory.top_k(ASKED.features, 5).ids.tolist() == load(folder).top_k(ASKED.features, 5).ids.tolist()
    before = contents(folder)
    fit(DATA, config, folder, **LOCAL, **options)
    assert contents(folder) == before


def test_profiles_alone(tmp_path: Path) -> None:
    fit(DATA, replace(CONFIG, ranker="profile"), tmp_path / "model", **LOCAL)
    ranking = load(tmp_path / "model").ranking
    assert ranking is not None
    assert ranking.ranker is None
    assert ranking.profiles is not None
    assert not (tmp_path / "model" / "ranker.safetensors").exists()


def test_of_many_rows_some_give_negatives(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []
    real = parts_module.rows_of_parts

    def spy(parts: Sequence[SparseRows], *rest: object) -> object:
        asked.append(sum(part.n_rows for part in parts))
        return real(parts, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(parts_module, "rows_of_parts", spy)
    monkeypatch.setattr("xmach.planning.ranker_sizes.MOST_NEGATIVE_ROWS", 180)  # of 600 rows every third
    memory = fit(DATA, CONFIG, **LOCAL).predictor
    assert 200 in asked
    fit(DATA, CONFIG, tmp_path / "model", **LOCAL)
    assert memory is not None
    assert memory.ranking is not None
    assert memory.ranking.ranker is not None
    again = load(tmp_path / "model").ranking
    assert again is not None
    assert again.ranker is not None
    for name, array in again.ranker.arrays().items():
        assert array.tobytes() == memory.ranking.ranker.arrays()[name].tobytes()


@pytest.mark.parametrize("config", [CONFIG, MachConfig(n_buckets=20, n_repetitions=1, hidden=(2,), epochs=1)])
def test_texts_without_a_ranker_are_told(config: MachConfig) -> None:
    data = made_up(100, 40, 30)
    texts = LabelTexts(np.arange(5), data.features.slice(0, 5))
    with pytest.warns(UserWarning, match="labels with a text join, but their texts are not used"):
        fit(data, config, **LOCAL, label_text=texts)


def test_what_is_said(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO", logger="xmach")
    with pytest.warns(UserWarning, match="n_buckets=70 is more than the 60 labels") as warned:
        fit(DATA, replace(CONFIG, n_buckets=70), tmp_path / "model", **LOCAL)
    assert len(warned) == 1  # the trial does not repeat it
    begun, trial, ranker = caplog.messages
    assert begun.startswith("600 rows")
    assert trial.startswith(
        "trial: a model of 540 rows is trained, which chooses the ranker's settings on the other 60"
    )
    assert re.fullmatch(r"ranker: parts by weight: mach .*; cost [\d.]+; [\d,]+ values stored", ranker)


@pytest.mark.parametrize("name", ["plan.json", "repetition-000.safetensors"])
def test_a_trial_that_cannot_be_used_begins_anew(tmp_path: Path, undisturbed: Path, name: str) -> None:
    with pytest.raises(Stopped):
        fit(DATA, CONFIG, tmp_path / "model", **LOCAL, on_progress=when("trial: shortlists", give_up))
    (tmp_path / "model" / "progress" / "trial" / name).write_text("{}")
    with pytest.warns(UserWarning, match=r"trial is damaged, or of another version of xmach .* the trial begins anew"):
        fit(DATA, CONFIG, tmp_path / "model", **LOCAL)
    assert contents(tmp_path / "model") == contents(undisturbed)


def test_leftovers_of_a_run_that_was_killed_at_its_very_end(tmp_path: Path, undisturbed: Path) -> None:
    fit(DATA, CONFIG, tmp_path / "model", **LOCAL)
    (tmp_path / "model" / "progress" / "trial").mkdir(parents=True)
    (tmp_path / "model" / "progress" / "ranker-profiles-000000000-000000016.safetensors").write_bytes(b"")
    with pytest.warns(UserWarning, match="is damaged"):
        fit(DATA, CONFIG, tmp_path / "model", **LOCAL)
    assert contents(tmp_path / "model") == contents(undisturbed)


@pytest.mark.parametrize("stage", [*STAGES, *(f"trial: {stage}" for stage in STAGES), "trial: training"])
def test_another_process_is_faster(tmp_path: Path, undisturbed: Path, stage: str) -> None:
    """It finishes the model and removes shards and the trial under our feet."""

    def finish() -> None:
        fit(DATA, CONFIG, tmp_path / "model", **LOCAL)

    fit(DATA, CONFIG, tmp_path / "model", **LOCAL, on_progress=when(stage, finish))
    assert contents(tmp_path / "model") == contents(undisturbed)


def test_too_few_rows_for_a_choice(tmp_path: Path) -> None:
    with pytest.warns(UserWarning, match="too few rows to hold some out for a ranker: the model has none"):
        fitted = fit(made_up(100, 40, 30), CONFIG, tmp_path / "model", **LOCAL)
    assert fitted.predictor is not None
    assert fitted.predictor.ranking is None
    assert load(tmp_path / "model").top_k(made_up(100, 40, 30).features, 3).ids.shape == (100, 3)


def test_many_rows_are_held_out_of_the_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(held_out_module, "MANY_ROWS", 500)
    stages = set[str]()
    fit(DATA, CONFIG, tmp_path / "model", **LOCAL, on_progress=lambda progress: stages.add(progress.stage))
    assert not any(stage.startswith("trial") for stage in stages)
    store = ModelStore(tmp_path / "model")
    assert store.label_counts().total == 2 * (600 - 60)
    assert store.plan().validation != ""
    before = contents(tmp_path / "model")
    fit(DATA, CONFIG, tmp_path / "model", **LOCAL)
    assert contents(tmp_path / "model") == before


def test_many_rows_of_a_model_that_was_begun_without_a_ranker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As an older version begins it."""
    fit(DATA, replace(CONFIG, ranker="none"), tmp_path / "model", only=[0], **LOCAL)
    monkeypatch.setattr(held_out_module, "MANY_ROWS", 500)
    fitted = fit(DATA, replace(CONFIG, ranker="auto"), tmp_path / "model", **LOCAL)
    assert (fitted.plan.ranker, fitted.trained) == ("none", 2)


def test_who_trains_the_last_repetition_trains_the_ranker(tmp_path: Path, undisturbed: Path) -> None:
    fitted = fit(DATA, CONFIG, tmp_path / "one", only=[0, 2], **LOCAL)
    assert fitted.predictor is None
    assert not (tmp_path / "one" / "progress" / "trial").exists()
    fit(DATA, CONFIG, tmp_path / "other", only=[1], **LOCAL)
    shutil.copy(tmp_path / "other" / "repetition-001.safetensors", tmp_path / "one")
    assert load(tmp_path / "one", allow_partial=True).ranking is None
    fit(DATA, CONFIG, tmp_path / "one", **LOCAL)
    assert contents(tmp_path / "one") == contents(undisturbed)


def test_rows_that_tell_nothing_are_not_held_out() -> None:
    split = held_out_module.split_rows(DATA, 0)
    assert split is not None
    assert len(split.held_out) == 60
    assert sorted([*split.kept, *split.held_out]) == list(range(600))
    n_rows = 400  # each of the last 200 rows has a label of its own, and no other
    own = np.append(np.zeros(200), np.arange(1, 201)).astype(np.int32)
    labels = SparseRows(np.arange(n_rows + 1), own, np.ones(n_rows, np.float32), 201)
    rows = Dataset(DATA.features.take(np.arange(n_rows)), labels)
    found = held_out_module.split_rows(rows, 0)
    assert found is not None
    assert found.held_out.max() < 200
    with_texts = held_out_module.split_rows(rows, 0, with_texts=True)
    assert with_texts is not None
    assert with_texts.held_out.max() >= 200


KILLED = """
import sys
from pathlib import Path
from tests.training.test_ranking import CONFIG, DATA
from xmach.training import fit
from xmach.ranking import weighing
from xmach.training import ranker_parts
ranker_parts.LEAST_SHARD_LABELS, ranker_parts._LEAST_ROWS, weighing._LEAST_GAIN = 16, 256, -1.0
fit(DATA, CONFIG, Path(sys.argv[1]), executor="local")
"""


@pytest.mark.slow
def test_ten_kills_at_random_moments_give_the_same_bytes(tmp_path: Path, undisturbed: Path) -> None:
    command = [sys.executable, "-c", KILLED, str(tmp_path / "model")]
    begun = time.monotonic()
    subprocess.run([*command[:-1], str(tmp_path / "timed")], check=True)
    whole, draw, kills = time.monotonic() - begun, random.Random(0), 0
    while kills < 10:
        process = subprocess.Popen(command)
        time.sleep(draw.uniform(0.4, 1.0) * whole)
        if process.poll() is None:
            process.kill()
            kills += 1
        process.wait()
        if (tmp_path / "model" / "manifest.json").exists() and kills < 10:
            assert contents(tmp_path / "model") == contents(undisturbed)
            subprocess.run(["rm", "-r", str(tmp_path / "model")], check=True)
    subprocess.run(command, check=True)
    assert contents(tmp_path / "model") == contents(undisturbed)


# --- damaged files


@pytest.fixture
def copied(tmp_path: Path, undisturbed: Path) -> Path:
    for name, content in contents(undisturbed).items():
        (tmp_path / "copy" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "copy" / name).write_bytes(content)
    return tmp_path / "copy"


def ranked_files(folder: Path) -> list[str]:
    return [name for name in ("profiles.safetensors", "ranker.safetensors") if (folder / name).exists()]


def test_every_changed_byte_is_noticed_or_harmless(copied: Path) -> None:
    rng = np.random.default_rng(0)
    for name in ranked_files(copied):
        content = (copied / name).read_bytes()
        for place in rng.choice(len(content), 60, replace=False).tolist():
            damaged = bytearray(content)
            damaged[place] ^= 1 << int(rng.integers(8))
            (copied / name).write_bytes(bytes(damaged))
            with pytest.raises(ModelCorrupt, match=name):
                load(copied)
            with suppress(ModelCorrupt):  # the answer may be wrong, but nothing crashes
                load(copied, verify=False).top_k(ASKED.features, 5)
        (copied / name).write_bytes(content)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda ranking: ranking.pop("fusion"), "the ranker's settings are damaged"),
        (lambda ranking: ranking["fusion"].update(slope=-1.0), "the ranker's settings are damaged"),
        (lambda ranking: ranking["fusion"].update(share=1.0), "the ranker's settings are damaged"),
        (lambda ranking: ranking["fusion"].update(share=0.1, sketch={"slope": 0.0}), "settings are damaged"),
        (lambda ranking: ranking["fusion"].update(share=0.1, sketch={"slop": 1.0}), "settings are damaged"),
        (lambda ranking: ranking["fusion"].update(share=0.1, sketch=[1.0, 2.0]), "settings are damaged"),
        (lambda ranking: ranking["fusion"]["weights"].update(other=1.0), "the ranker's settings are damaged"),
        (lambda ranking: ranking["fusion"]["weights"].update(text=1.0), "the ranker's score needs text"),
        (lambda ranking: ranking.update(shortlist={"mach": "many"}), "the ranker's settings are damaged"),
        (lambda ranking: ranking.update(shortlist={"mach": -5, "profile": 3, "text": 3}), "settings are damaged"),
    ],
)
def test_a_damaged_manifest(copied: Path, change: Callable[[dict[str, object]], object], message: str) -> None:
    manifest = json.loads((copied / "manifest.json").read_text())
    change(manifest["ranking"])
    (copied / "manifest.json").write_text(json.dumps(manifest))
    with pytest.raises(ModelCorrupt, match=message):
        load(copied, verify=False)


def test_a_manifest_that_lost_its_ranker(copied: Path) -> None:
    manifest = json.loads((copied / "manifest.json").read_text())
    del manifest["ranking"]
    (copied / "manifest.json").write_text(json.dumps(manifest))
    with pytest.raises(ModelCorrupt, match=r"there is profiles.safetensors, but no weights of a ranker"):
        load(copied)


def test_files_that_changed_places(copied: Path) -> None:
    manifest = json.loads((copied / "manifest.json").read_text())
    manifest["files"]["texts.safetensors"] = manifest["files"]["profiles.safetensors"]
    (copied / "manifest.json").write_text(json.dumps(manifest))
    shutil.copy(copied / "profiles.safetensors", copied / "texts.safetensors")
    with pytest.raises(
        ModelCorrupt, match=r"texts.safetensors: this file belongs to another model \(its file differs\)"
    ):
        load(copied)


def test_files_of_another_model(copied: Path, tmp_path: Path) -> None:
    fit(DATA, replace(CONFIG, seed=2), tmp_path / "other", **LOCAL)
    for name in ranked_files(copied):
        if (tmp_path / "other" / name).exists():
            (copied / name).write_bytes((tmp_path / "other" / name).read_bytes())
            with pytest.raises(ModelCorrupt, match="belongs to another model"):
                load(copied, verify=False)
