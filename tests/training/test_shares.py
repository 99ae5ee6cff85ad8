"""`only_ranker`: shares of the ranker's training, on machines that share a folder or that never meet."""

from __future__ import annotations

import logging
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.checks.small_shards import small_shards
from tests.conftest import made_up
from tests.training.test_ranking import CONFIG, DATA, LOCAL, Stopped, contents, give_up, when

from xmach.errors import ModelIncomplete, ParameterError, PlanMismatch
from xmach.store import ModelStore
from xmach.training import Fitted, StageProgress, fit
from xmach.training import ranker_parts as parts_module

HELD_OUT, ROWS = DATA.slice(0, 100), DATA.slice(100, 600)


@pytest.fixture(scope="module", autouse=True)
def every_part_in_small_shards() -> Iterator[None]:
    with small_shards(128):
        yield


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory, every_part_in_small_shards: None) -> Path:
    """With a trial."""
    folder = tmp_path_factory.mktemp("undisturbed") / "model"
    fit(DATA, CONFIG, folder, **LOCAL)
    return folder


@pytest.fixture(scope="module")
def validated(tmp_path_factory: pytest.TempPathFactory, every_part_in_small_shards: None) -> Path:
    """With validation rows."""
    folder = tmp_path_factory.mktemp("validated") / "model"
    fit(ROWS, CONFIG, folder, **LOCAL, validation=HELD_OUT)
    return folder


def begun(folder: Path, finished: Path) -> Path:
    """The model as it is when its last repetition is trained."""
    folder.mkdir()
    for path in finished.rglob("*"):
        if path.is_file() and path.name not in ("manifest.json", "profiles.safetensors", "ranker.safetensors"):
            (folder / path.relative_to(finished)).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, folder / path.relative_to(finished))
    return folder


def trained(folder: Path, only_ranker: tuple[int, int] | None = None, **options: Any) -> Fitted:
    return fit(DATA, CONFIG, folder, **LOCAL, only_ranker=only_ranker, **options)


def pieces(folder: Path) -> set[str]:
    return {path.name.partition("-00")[0] for path in (folder / "progress").glob("ranker-*")}


@pytest.mark.parametrize("order", [[(1, 2), (2, 2), (1, 2)], [(2, 2), (1, 2), (2, 2)], [(1, 1)], [(3, 3), (1, 2)]])
def test_shares_in_any_order_give_the_same_bytes(
    tmp_path: Path, undisturbed: Path, order: list[tuple[int, int]]
) -> None:
    model = begun(tmp_path / "model", undisturbed)
    for share in order:
        fitted = trained(model, share)
        assert (fitted.predictor, fitted.complete, len(fitted.history)) == (None, False, 3)
        assert not (model / "manifest.json").exists()
    assert trained(model).complete
    assert contents(model) == contents(undisturbed)


def test_with_validation_rows_shares_train_the_classifiers_of_every_cost(tmp_path: Path, validated: Path) -> None:
    model, given = begun(tmp_path / "model", validated), {**LOCAL, "validation": HELD_OUT}
    for share in ((1, 2), (2, 2), (1, 2)):
        fit(ROWS, CONFIG, model, **given, only_ranker=share)
    assert pieces(model) >= {f"ranker-classifiers-{cost}" for cost in ("0.3", "1", "3")}
    stages: list[StageProgress] = []
    fit(ROWS, CONFIG, model, **given, on_progress=stages.append)
    assert not any(stage.stage.startswith("trial") for stage in stages)
    assert contents(model) == contents(validated)


def test_an_array_job_that_trains_repetitions_and_the_ranker(tmp_path: Path, undisturbed: Path) -> None:
    for _ in range(3):
        for share, only in (((1, 2), [0, 1]), ((2, 2), [2])):
            assert not trained(tmp_path / "model", share, only=only).complete
    made: list[str] = []
    assert trained(tmp_path / "model", on_progress=lambda progress: made.append(progress.stage)).trained == 0
    assert contents(tmp_path / "model") == contents(undisturbed)


def test_shares_in_worker_processes(tmp_path: Path, undisturbed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parts_module, "POOLED_OCCURRENCES", 0)  # otherwise processes are not started for so few rows
    model = begun(tmp_path / "model", undisturbed)
    for share in ((2, 2), (1, 2), (2, 2)):
        fit(DATA, CONFIG, model, executor="pool", workers=2, only_ranker=share)
    trained(model)
    assert contents(model) == contents(undisturbed)


def test_copies_of_a_folder_are_joined_by_copying_progress(tmp_path: Path, undisturbed: Path) -> None:
    folders = [begun(tmp_path / name, undisturbed) for name in ("one", "two")]
    for _ in range(2):
        for number, folder in enumerate(folders, start=1):
            trained(folder, (number, 2))
        for here, there in (folders, folders[::-1]):
            shutil.copytree(here / "progress", there / "progress", dirs_exist_ok=True)
    trained(folders[0])
    assert contents(folders[0]) == contents(undisturbed)


PROCESS = """
import sys
from pathlib import Path
from tests.training.test_ranking import CONFIG, DATA
from xmach.training import fit, ranker_parts
from xmach.ranking import weighing
ranker_parts.LEAST_SHARD_LABELS, ranker_parts._LEAST_ROWS, weighing._LEAST_GAIN = 16, 128, -1.0
fit(DATA, CONFIG, Path(sys.argv[1]), executor="local", only_ranker=(int(sys.argv[2]), 2))
"""


def test_processes_at_the_same_time(tmp_path: Path, undisturbed: Path) -> None:
    model = begun(tmp_path / "model", undisturbed)
    for _ in range(2):
        running = [subprocess.Popen([sys.executable, "-c", PROCESS, str(model), str(i)]) for i in (1, 2)]
        assert [process.wait() for process in running] == [0, 0]
    assert trained(model).complete
    assert contents(model) == contents(undisturbed)


@pytest.mark.parametrize("share", [1, 2])
def test_killed_and_run_again(tmp_path: Path, undisturbed: Path, share: int) -> None:
    model = begun(tmp_path / "model", undisturbed)
    for _ in range(3):
        process = subprocess.Popen([sys.executable, "-c", PROCESS, str(model), str(share)])
        seen = len(list((model / "progress").rglob("*.safetensors")))
        while process.poll() is None and len(list((model / "progress").rglob("*.safetensors"))) == seen:
            time.sleep(0.01)
        process.kill()
        process.wait()
    trained(model)
    assert contents(model) == contents(undisturbed)


@pytest.mark.parametrize("stage", ["trial: training", "shortlists", "classifiers of labels"])
def test_stopped_and_run_again(tmp_path: Path, undisturbed: Path, stage: str) -> None:
    model = begun(tmp_path / "model", undisturbed)
    trained(model, (2, 2))
    with pytest.raises(Stopped):
        trained(model, (1, 2), on_progress=when(stage, give_up))
    trained(model, (1, 2))
    trained(model)
    assert contents(model) == contents(undisturbed)


def test_another_process_finishes_the_model(tmp_path: Path, undisturbed: Path) -> None:
    for stage in ("label profiles", "shortlists", "classifiers of labels"):
        model = begun(tmp_path / stage, undisturbed)
        assert trained(model, (1, 1), on_progress=when(stage, lambda model=model: trained(model))).complete
        assert contents(model) == contents(undisturbed)


def test_what_is_said(tmp_path: Path, undisturbed: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, logger="xmach")
    model, said = begun(tmp_path / "model", undisturbed), []
    for share in ((2, 2), (3, 3), (1, 2), (2, 2), (1, 1)):
        trained(model, share)
        said.append(caplog.messages[-1])
    again = "when all shares have got here, run each of them again"
    assert said == [
        f"ranker 2/2: its shortlists are made, those of other shares lack 3 shards; {again}, for the classifiers",
        f"ranker 3/3: its shortlists are made, those of other shares lack 2 shards; {again}, for the classifiers",
        "ranker 1/2: its classifiers are made, those of other shares lack 2 shards; when all shares have got here, run "
        "once without only_ranker",
        *[
            f"ranker {share}: all shortlists and classifiers are made; run once without only_ranker, which joins them "
            "and finishes the model"
            for share in ("2/2", "1/1")
        ],
    ]
    trained(model)
    before = contents(model)
    assert trained(model, (1, 2)).complete
    assert "the model is finished: there is nothing to do for only_ranker" in caplog.messages
    assert contents(model) == before


def test_a_trial_that_was_not_copied_is_told(
    tmp_path: Path, undisturbed: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, logger="xmach")
    model = begun(tmp_path / "model", undisturbed)
    trained(model, (1, 1))
    shutil.rmtree(model / "progress" / "trial")
    trained(model, (2, 2))
    assert "all shortlists are made, but the trial that share 1 trains is not finished" in caplog.messages[-1]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("1/2", r"only_ranker must be a pair such as \(1, 4\), share 1 of 4; got '1/2'"),
        ((1, 2, 3), "only_ranker must be a pair"),
        ((0, 3), "the share in only_ranker must be a whole number from 1 to 3, got 0"),
        ((4, 3), "the share in only_ranker must be a whole number from 1 to 3, got 4"),
        ((1, 0), "the number of shares in only_ranker must be a whole number of at least 1, got 0"),
        ((1.5, 3), "the share in only_ranker must be a whole number"),
    ],
)
def test_bad_shares_are_named(tmp_path: Path, given: Any, message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        trained(tmp_path / "model", given)
    assert not (tmp_path / "model").exists()


def test_what_a_share_needs(tmp_path: Path, undisturbed: Path) -> None:
    with pytest.raises(ParameterError, match="only_ranker needs a folder"):
        fit(DATA, CONFIG, **LOCAL, only_ranker=(1, 2))
    with pytest.raises(ModelIncomplete, match="needs all repetitions, but there is none"):
        trained(tmp_path / "model", (1, 2))
    assert not (tmp_path / "model").exists()
    model = begun(tmp_path / "model", undisturbed)
    with pytest.raises(PlanMismatch, match="seed: 2 here, 1 there"):
        fit(DATA, replace(CONFIG, seed=2), model, **LOCAL, only_ranker=(1, 2))
    for r in (0, 2):
        ModelStore(model).path(r).unlink()
    with pytest.raises(ModelIncomplete, match=r"needs all repetitions, but 2 of 3 are missing \(0, 2\)"):
        trained(model, (1, 2))


@pytest.mark.filterwarnings("ignore:too few rows to hold some out for a ranker")
@pytest.mark.parametrize(
    ("n_rows", "kind", "message"),
    [
        (600, "none", r"this model has no ranker \(ranker='none'\)"),
        (600, "profile", "label profiles take seconds and are not divided"),
        (100, "linear", "too few rows for a ranker; run once without only_ranker"),
    ],
)
def test_rankers_that_cannot_be_divided(tmp_path: Path, n_rows: int, kind: str, message: str) -> None:
    data, config = made_up(n_rows, 80, 60), replace(CONFIG, ranker=kind)
    fit(data, config, tmp_path / "model", **LOCAL)
    (tmp_path / "model" / "manifest.json").unlink()
    with pytest.raises(ParameterError, match=message):
        fit(data, config, tmp_path / "model", **LOCAL, only_ranker=(1, 2))
