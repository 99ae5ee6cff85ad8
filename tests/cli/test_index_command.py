"""`xmach index` as users run it, and what the other commands make of an index."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from tests.command_server import CommandServer
from tests.conftest import Run, checked, made_up

from xmach.data import write_xmc

SMALL = ["--buckets", 8, "--repetitions", 3, "--hidden", "none", "--epochs", 1, "--executor", "local"]


@pytest.fixture(scope="session")
def rows(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("rows") / "rows.txt"
    write_xmc(made_up(), path)
    return path


@pytest.fixture(scope="session")
def trained(command_server: CommandServer, rows: Path) -> Path:
    checked(command_server.run, rows.parent / "cache")("train", rows, "--model", rows.parent / "model", *SMALL)
    return rows.parent / "model"


@pytest.fixture
def model(trained: Path, tmp_path: Path) -> Path:
    """A copy that a test may change."""
    return Path(shutil.copytree(trained, tmp_path / "model"))


def sizes(xmach: Run, model: Path) -> tuple[int, int | None]:
    facts = json.loads(xmach("inspect", model, "--json").stdout)
    return facts["bytes"], facts["index_bytes"]


def test_build_answer_inspect_remove(xmach: Run, rows: Path, model: Path) -> None:
    before, none = sizes(xmach, model)
    assert none is None
    answers = xmach("predict", model, rows, "--k", 5).stdout

    built = xmach("index", model, "--threads", 2)
    assert built.stdout == ""  # stdout is for data
    assert f"{model / 'index'}: " in built.stderr
    assert "for 30 labels in 3 repetitions" in built.stderr
    tables = sum(path.stat().st_size for path in (model / "index").iterdir())
    assert sizes(xmach, model) == (before, tables)
    assert ", beside the model" in xmach("inspect", model).stdout
    assert xmach("predict", model, rows, "--k", 5).stdout == answers

    assert "the index is gone" in xmach("index", model, "--remove").stderr
    assert "there was no index" in xmach("index", model, "--remove").stderr
    assert "index         none" in xmach("inspect", model).stdout


def test_a_damaged_one_is_refused_until_it_is_removed(xmach: Run, rows: Path, model: Path) -> None:
    xmach("index", model)
    table = model / "index" / "labels"
    table.write_bytes(table.read_bytes()[:-4])
    said = xmach("predict", model, rows, code=3).stderr
    assert said.count("\n") == 1
    assert "labels has 356 bytes, not 360" in said
    assert "build it anew (xmach index) or remove it (xmach index --remove)" in said
    xmach("index", model, "--remove")
    xmach("predict", model, rows)


def test_tables_of_damaged_buckets_are_not_built(xmach: Run, rows: Path, tmp_path: Path) -> None:
    """A bucket beyond the last once crashed the kernel; two labels' buckets exchanged gave a wrong index."""
    model = tmp_path / "mixed"
    xmach("train", rows, "--model", model, *SMALL, "--bucketing", "mixed")
    file = model / "buckets.safetensors"
    whole = file.read_bytes()
    table = np.frombuffer(whole[-60:], np.uint16)  # 30 labels
    beyond, exchanged = table.copy(), table.copy()
    beyond[7] = 40_000
    first, other = 0, int(np.flatnonzero(table != table[0])[0])
    exchanged[[first, other]] = table[[other, first]]
    for changed, message in ((beyond, "not all whole numbers below 8"), (exchanged, "not those of the plan; copy")):
        file.write_bytes(whole[:-60] + changed.tobytes())
        said = xmach("index", model, code=3).stderr
        assert said.count("\n") == 1
        assert "buckets.safetensors: the buckets of repetition 1 are" in said
        assert message in said
        assert not (model / "index").exists()
    file.write_bytes(whole)
    xmach("index", model)


def test_training_tolerates_it(xmach: Run, rows: Path, model: Path, tmp_path: Path) -> None:
    """Again into the same folder; and in a part of the model that gets the others' files by copying the folder."""
    xmach("index", model)
    again = json.loads(xmach("train", rows, "--model", model, *SMALL, "--json").stdout)
    assert (again["trained"], again["complete"]) == (0, True)
    assert sizes(xmach, model)[1] is not None
    part = tmp_path / "part"
    xmach("train", rows, "--model", part, *SMALL, "--only", "0-1")
    xmach("index", part)  # the plan is enough
    assert xmach("predict", part, rows, "--allow-partial").stdout
    shutil.copytree(model, part, dirs_exist_ok=True)
    assert json.loads(xmach("train", rows, "--model", part, *SMALL, "--json").stdout)["complete"]
    assert xmach("predict", part, rows).stdout == xmach("predict", model, rows).stdout


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["MODEL", "--threads", 0], 2, "--threads must be a whole number of at least 1, got 0"),
        (["EMPTY"], 3, "there is no model here (no plan.json)"),
        (["EMPTY", "--remove"], 3, "there is no model here (no plan.json)"),
        (["EMPTY/nothing"], 3, "there is no model here (no plan.json)"),
        ([], 2, "Missing argument 'DIR'"),
    ],
)
def test_what_is_refused(xmach: Run, tmp_path: Path, arguments: list[object], code: int, message: str) -> None:
    (tmp_path / "empty").mkdir()
    given = [str(argument).replace("EMPTY", str(tmp_path / "empty")) for argument in arguments]
    assert message in xmach("index", *given, code=code).stderr
    assert not list((tmp_path / "empty").iterdir())
