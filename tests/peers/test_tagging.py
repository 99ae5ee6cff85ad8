"""The tagging contest: one contract for every contestant, runs that are kept, and the definitions of its sets."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from benchmarks.peers import runs
from benchmarks.peers.harness import Contestant
from benchmarks.peers.runs import Limits
from benchmarks.tagging import contest as contest_module
from benchmarks.tagging import environments, sizes
from benchmarks.tagging.contest import contest, contestant_of, judge, main
from benchmarks.tagging.environments import is_made, library_version, python_of
from benchmarks.tagging.gazetteer import names_of, split_names
from benchmarks.tagging.report import QUALITY, result_table, summary
from benchmarks.tagging.sets import SETS, TaggedRows, label_rows, provide_set, word_features, write_set
from benchmarks.tagging.tagger import TAGGERS, Environment
from scipy.sparse import csr_matrix, load_npz

LIMITS = Limits(2 * 2**30, 120)
N_LABELS = 120
SETTINGS: dict[str, dict[str, Any]] = {
    "parabel": {"n_trees": 1},
    "bonsai": {"n_trees": 1},
    "xr-linear": {},
    "mach": {"n_buckets": 60, "n_repetitions": 4, "epochs": 20, "hidden": [], "learning_rate": 0.05},
}


def _rows(n_rows: int, seed: int) -> tuple[Any, Any]:
    """Rows of two labels each; a label is its own column, and some columns are noise. The first row is empty."""
    draw = np.random.default_rng(seed)
    labels = np.sort(np.stack([np.arange(n_rows) % N_LABELS, (np.arange(n_rows) * 7 + 1) % N_LABELS], axis=1), axis=1)
    x = np.zeros((n_rows, 2 * N_LABELS), np.float32)
    np.put_along_axis(x, labels, 1.0, axis=1)
    x[np.arange(n_rows), N_LABELS + draw.integers(0, N_LABELS, n_rows)] = 0.5
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    x[0] = 0
    return csr_matrix(x), label_rows([sorted(set(row)) for row in labels.tolist()], N_LABELS)


@pytest.fixture(scope="module")
def tagged(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("sets") / "tiny"
    write_set(folder, TaggedRows(*_rows(600, 0), *_rows(240, 1)), {"source": "synthetic"})
    return folder


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("tagging")


# --- contestants


def test_settings_are_there_for_every_tagger() -> None:
    assert list(SETTINGS) == list(TAGGERS)


@pytest.mark.parametrize("name", TAGGERS)
def test_a_contestant_learns_and_tells_what_it_took(name: str, tagged: Path, place: Path) -> None:
    environment = TAGGERS[name].environment
    if library_version(name) is None:
        pytest.skip(f"{TAGGERS[name].library} comes with the `bench` extra")
    if environment is not None and not is_made(environment):
        pytest.skip(f"`python -m benchmarks tagging` makes the environment of {TAGGERS[name].library}")
    (row,) = contest(tagged, [Contestant(name, SETTINGS[name])], LIMITS, place=place)
    assert "failed" not in row, row
    assert row["quality"]["precision@1"] > 0.9
    assert row["quality"]["recall@100"] > 0.9
    assert set(row["rounds"][0]["seconds"]) == {
        *(f"train: {part}" for part in ("load", "prepare", "train", "save")),
        *(f"predict: {part}" for part in ("load", "open", "predict")),
    }
    assert row["training seconds"]["cpu"]["median"] > 0
    assert row["training seconds"]["wall"]["median"] > 0
    assert row["bytes"] > 0
    assert row["training memory"] >= 0


def test_finished_runs_are_kept_and_contestants_take_turns(
    tagged: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    called: list[tuple[str, int]] = []

    def pretend(command: list[str], *rest: Any) -> int:
        job = json.loads(Path(command[-1]).read_text())
        called.append((command[3], job["settings"]["epochs"]))
        parts = ("load", "prepare", "train", "save", "open", "predict")
        used = {part: {"cpu": 1.0, "wall": 1.0} for part in parts}
        Path(job["out"]).write_text(json.dumps({"seconds": used, "memory": 1}))
        best = np.full((240, 100), -1)
        best[:, 0] = np.arange(240) % N_LABELS if job["settings"]["epochs"] == 2 else 0
        np.save(job["best"], best)
        return 0

    monkeypatch.setattr(runs, "run_within", pretend)
    both = [Contestant("mach", {"epochs": epochs}) for epochs in (1, 2)]
    first = contest(tagged, both, LIMITS, 2, tmp_path)
    assert called == [("train", 1), ("predict", 1), ("train", 2), ("predict", 2)] * 2
    assert [row["settings"]["epochs"] for row in first] == [2, 1]  # the better one first
    assert first[0]["quality"]["precision@1"] == 1.0
    assert [len(row["rounds"]) for row in first] == [2, 2]
    assert contest(tagged, both, LIMITS, 2, tmp_path) == first
    assert len(called) == 8


def test_a_failure_or_a_limit_is_a_row_that_says_so(tagged: Path, place: Path) -> None:
    wrong = Contestant("mach", {"n_buckets": 1})
    (row,) = contest(tagged, [wrong], LIMITS, place=place)
    assert row["failed"].startswith("ended with 1: xmach.errors.ParameterError: n_buckets must be")
    (late,) = contest(tagged, [Contestant("mach")], Limits(2 * 2**30, 0.01), place=place)
    assert late["failed"].startswith("out of time")
    assert late["while"] == "train"
    assert "| mach, n_buckets=1 | ended with 1: " in result_table([row])


def test_a_library_that_is_missing_is_a_reason(tagged: Path, place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(contest_module, "library_version", lambda name: None)
    (row,) = contest(tagged, [Contestant("parabel")], LIMITS, place=place)
    assert row["failed"] == "omikuji is not installed (the `bench` extra)"


# --- accuracy against size


def test_prefixes_are_models_of_fewer_repetitions(
    tagged: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sizes, "REPETITIONS", (1, 2, 4))
    settings = {"learner": "linear", "n_buckets": 60}
    rows = sizes.prefixes(tagged, settings, tmp_path)
    assert [row["R"] for row in rows] == [1, 2, 4]
    assert [row["bytes"] for row in rows] == sorted({row["bytes"] for row in rows})
    assert [row["seconds"] for row in rows] == sorted({row["seconds"] for row in rows})
    (whole,) = contest(tagged, [Contestant("mach", {**settings, "n_repetitions": 4})], LIMITS, place=tmp_path)
    assert rows[-1]["quality"] == whole["quality"]
    assert rows[-1]["bytes"] == pytest.approx(whole["bytes"], rel=0.05)  # the whole one has a manifest besides
    assert rows[0]["quality"]["precision@1"] < rows[-1]["quality"]["precision@1"]
    monkeypatch.setattr(runs, "run_within", None)  # it is not called again
    assert sizes.prefixes(tagged, settings, tmp_path) == rows


def test_sizes_are_told_in_a_table() -> None:
    run = _run(0.5, 1.0)
    models = {"linear, B = 9": [{"R": 2, "quality": run["quality"], "bytes": 1024, "seconds": 1.5}]}
    text = sizes.size_table(models, {"bonsai": {"failed": "no memory"}, "parabel": summary([run])})
    assert "| linear, B = 9 | 2 | 50.00 | 50.00 | 50.00 | 50.00 | 1.00 KiB | 1.5 |" in text
    assert "| bonsai | - | no memory | - | - | - | - | - |" in text
    assert "| parabel | - | 50.00 | 50.00 | 50.00 | 50.00 | 2.00 KiB | 3 |" in text


# --- environments


def test_an_environment_is_made_once_and_a_failure_leaves_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    commands: list[list[str]] = []
    codes = [1, 0, 0]

    def install(command: list[str], **options: Any) -> subprocess.CompletedProcess[str]:
        commands.append(command)
        return subprocess.CompletedProcess(command, codes.pop(0), "", "no such package\n")

    monkeypatch.setattr(environments.venv, "create", lambda folder, **options: folder.mkdir(parents=True))
    monkeypatch.setattr(environments.subprocess, "run", install)
    wanted = Environment("old", ("numpy<2",), ("libpecos==1.2.8",))
    with pytest.raises(OSError, match="pip failed: no such package"):
        python_of(wanted, tmp_path)
    assert not is_made(wanted, tmp_path)
    next(tmp_path.iterdir()).rmdir()
    python = python_of(wanted, tmp_path)
    assert is_made(wanted, tmp_path)
    assert [command[-1] for command in commands] == ["numpy<2", "numpy<2", "libpecos==1.2.8"]
    assert "--no-deps" in commands[-1]
    assert python_of(wanted, tmp_path) == python
    assert len(commands) == 3


def test_an_environment_tells_its_version_before_it_is_made() -> None:
    assert library_version("xr-linear") == "1.2.8"


# --- figures


def test_precision_counts_hits_of_the_first_k(tmp_path: Path) -> None:
    x = csr_matrix(np.eye(2, dtype=np.float32))
    y = label_rows([[0, 3], [1]], 9)
    write_set(tmp_path / "two", TaggedRows(x, y, x, y), {})
    best = np.full((2, 100), -1)
    best[0, :3] = [3, 5, 0]
    best[1, :2] = [4, 1]
    found = judge(tmp_path / "two", best)
    assert found["precision@1"] == pytest.approx(1 / 2)
    assert found["precision@3"] == pytest.approx((2 / 3 + 1 / 3) / 2)
    assert found["precision@5"] == pytest.approx((2 / 5 + 1 / 5) / 2)
    assert found["recall@100"] == 1.0
    assert found["recall@100 head"] == 1.0
    assert found["psp@1"] == pytest.approx(1 / 2)  # all labels are equally rare


def _run(precision: float, seconds: float) -> dict[str, Any]:
    parts = ("train: prepare", "train: train", "train: save", "predict: open", "predict: predict")
    quality = dict.fromkeys((name for names in QUALITY.values() for name in names), precision)
    used = {part: {"cpu": seconds, "wall": 2 * seconds} for part in parts}
    return {"quality": quality, "seconds": used, "bytes": 2048, "training memory": 0, "predicting memory": 0}


def test_rounds_become_one_row() -> None:
    row = summary([_run(0.5, 1.0), _run(0.6, 2.0)])
    assert row["quality"]["precision@1"] == pytest.approx(0.55)
    assert row["training seconds"]["cpu"] == {"median": 4.5, "low": 3.0, "high": 6.0}
    assert row["predicting seconds"]["wall"] == {"median": 6.0, "low": 4.0, "high": 8.0}
    text = result_table([{"contestant": "some", **row}])
    many = "55.0 / 55.0 / 55.0"
    assert f"| some | 55.00 | 55.00 | 55.00 | 55.00 | {many} | {many} | 4.5 (3 to 6) | 3 (2 to 4) | 2.00 KiB |" in text
    assert summary([_run(0.5, 1.0), {"failed": "out of memory", "while": "train"}])["failed"] == "out of memory"


# --- the command


def test_settings_are_read_from_the_command_line() -> None:
    given = contestant_of("mach:n_buckets=1000:hidden=[500]:bucketing=mixed")
    assert given == Contestant("mach", {"n_buckets": 1000, "hidden": [500], "bucketing": "mixed"})
    assert contestant_of("mach").training == {}
    assert contestant_of("parabel").training == {}
    with pytest.raises(SystemExit, match="no contestant 'forest'; there are parabel, bonsai"):
        contestant_of("forest")
    with pytest.raises(SystemExit, match="a setting is written name=value, got 'n_buckets'"):
        contestant_of("mach:n_buckets")


def test_the_command_writes_a_table_for_each_set(
    tagged: Path, place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(contest_module, "provide_set", lambda source: tagged)
    monkeypatch.setattr("benchmarks.places.OUT", tmp_path)
    monkeypatch.setattr(contest_module, "PLACE", place)
    shown: list[tuple[Any, ...]] = []

    def run(*given: Any) -> list[dict[str, Any]]:
        shown.append(given)
        return [{"contestant": "mach", **summary([_run(0.5, 1.0)])}]

    monkeypatch.setattr(contest_module, "contest", run)
    main("--sets", "bibtex", "--contestants", "mach", "--memory", "2GiB", "--minutes", "2", "--repeats", "3")
    assert shown == [(tagged, [Contestant("mach", {})], LIMITS, 3)]
    text = (tmp_path / "tagging-bibtex.md").read_text()
    assert text.startswith("# bibtex: 600 train, 240 test, 240 features, 120 labels\n")
    assert json.loads((tmp_path / "tagging-bibtex.json").read_text())["set"]["train"] == 600


# --- sets

PLACES = [
    {"geonameid": 12, "name": "Wien", "alternatenames": ["Vienna", " Wien ", "", "Vienne"], "countrycode": "AT"},
    {"geonameid": 9, "name": "Oslo", "alternatenames": [], "countrycode": "NO"},
    {"geonameid": 101, "name": "Roma", "alternatenames": ["Rome"], "countrycode": "IT"},
]


def test_one_name_of_each_place_with_two_is_left_out() -> None:
    assert names_of(PLACES[0]) == ["Vienna", "Vienne", "Wien"]
    split = split_names(PLACES, 10)
    assert (split.n_places, split.n_held_out) == (3, 2)
    assert ("Oslo NO", 0) in split.train  # ids ascend as numbers, and a single name is learned from
    assert sorted(split.train + split.test) == [
        ("Oslo NO", 0), ("Roma IT", 2), ("Rome IT", 2), ("Vienna AT", 1), ("Vienne AT", 1), ("Wien AT", 1),
    ]  # fmt: skip
    assert sorted(place for _, place in split.test) == [1, 2]
    assert split_names(reversed(PLACES), 10) == split
    assert split_names(PLACES, 1).test == split.test[:1]


def test_words_and_pairs_of_the_training_texts_are_features() -> None:
    x, test_x = word_features(["a red lamp", "A lamp"], ["red red lamp lamp", "unknown"])
    assert x.shape == (2, 6)  # a, red, lamp; a red, red lamp, a lamp
    assert test_x.shape == (2, 6)
    assert x.dtype == np.float32
    assert np.allclose(x.multiply(x).sum(axis=1), 1)
    assert test_x[1].nnz == 0
    assert test_x[0].nnz == 3
    red_lamp, lamp, red = np.sort(test_x[0].data)  # idf: lamp is in both texts
    assert red / red_lamp == pytest.approx(1 + np.log(2), rel=1e-5)  # sublinear: twice the word, 1.69 times the weight
    assert lamp < red


def test_a_set_is_made_once_and_reads_back(tmp_path: Path) -> None:
    calls = []

    class Counted(type(SETS["bibtex"])):  # type: ignore[misc]
        def make(self) -> TaggedRows:
            calls.append(self.folder)
            return TaggedRows(*_rows(20, 0), *_rows(10, 1))

    folder = provide_set(Counted("some"), tmp_path)
    assert provide_set(Counted("some"), tmp_path) == folder
    assert calls == ["some"]
    assert provide_set(Counted("other"), tmp_path) != folder
    assert (load_npz(folder / "train_x.npz") != _rows(20, 0)[0]).nnz == 0


def test_tate_has_the_features_that_are_published(shared_data: Path) -> None:
    rows = SETS["tate"].make()
    assert rows.train_x.shape == (52_922, 132_190)
    assert rows.test_y.shape == (5_880, 16_456)
