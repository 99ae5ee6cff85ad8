"""`xmach train --label-text`: labels that only have a text, what is said, and resuming with other texts."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.conftest import Run

from xmach import load
from xmach.cli.label_texts import columns_of
from xmach.errors import ParameterError

LOG = "query,product\n" + "".join(
    f"{['red shoe', 'iron pan', 'green tea'][i % 3]} {i},{'spt'[i % 3]}\n" for i in range(30)
)
OPTIONS = ("--text", "query", "--labels", "product", "--features", 300)
SMALL = ("--buckets", 3, "--repetitions", 2, "--hidden", 8, "--epochs", 2, "--executor", "local")
TITLES = "s,running shoe\np,cast iron pan\nnew,a tea cup\nbare,?\n"


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "log.csv"
    path.write_text(LOG)
    return path


def titles(folder: Path, content: str = TITLES, header: str = "product,title\n", name: str = "titles.csv") -> Path:
    path = folder / name
    path.write_text(header + content)
    return path


def test_labels_join_and_the_plan_names_the_texts(xmach: Run, tmp_path: Path, log: Path) -> None:
    named = ("--label-text", titles(tmp_path), "--label-text-columns", "product,title")
    model = tmp_path / "model"
    said = xmach("train", log, "--model", model, *OPTIONS, *SMALL, *named).stderr
    assert f"{tmp_path / 'titles.csv'}: texts of 3 labels, of which 1 are in no row; 1 texts have no word" in said
    loaded = load(model)
    assert list(loaded.label_names or ()) == ["p", "s", "t", "new"]
    assert loaded.label_counts.dense().tolist() == [10, 10, 10, 0]
    plan = json.loads((model / "plan.json").read_text())
    assert len(plan["label_text"]) == 64
    again = xmach("train", log, "--model", model, *OPTIONS, *SMALL, *named, "--json")
    assert json.loads(again.stdout)["trained"] == 0


def test_other_texts_are_another_plan(xmach: Run, tmp_path: Path, log: Path) -> None:
    model, no_header = tmp_path / "model", ("--label-text-columns", "0,1")
    first = titles(tmp_path, "s,running shoe\n", "", "one.csv")
    options = ("train", log, "--model", model, *OPTIONS, *SMALL)
    xmach(*options, "--label-text", first, *no_header)
    other = titles(tmp_path, "s,running boot\n", "", "two.csv")
    assert (
        "holds a model of another plan (--label-text: "
        in xmach(*options, "--label-text", other, *no_header, code=3).stderr
    )
    assert "(--label-text: no texts here, " in xmach(*options, code=3).stderr
    copy = titles(tmp_path, "label,text\ns,running shoe\n", "", "three.csv")
    xmach(*options, "--label-text", copy)  # the same texts in another file
    xmach("train", log, "--model", tmp_path / "plain", *OPTIONS, *SMALL)
    assert "label_text" not in json.loads((tmp_path / "plain" / "plan.json").read_text())


def test_validation_rows_may_have_labels_that_only_have_a_text(xmach: Run, tmp_path: Path, log: Path) -> None:
    held_out = tmp_path / "later.csv"
    held_out.write_text("query,product\ntea cup,new\nred shoe,s\n")
    named = ("--label-text", titles(tmp_path, header="label,text\n"), "--validation", held_out)
    xmach("train", log, "--model", tmp_path / "model", *OPTIONS, *SMALL, *named)
    evaluated = xmach("evaluate", tmp_path / "model", held_out, "--json")
    assert "not among" not in evaluated.stderr
    assert load(tmp_path / "model").n_labels == 4


def test_workers_know_the_new_labels(xmach: Run, tmp_path: Path, log: Path) -> None:
    """A dataset that lies in the cache travels as its path; its new labels travel with it."""
    named = ("--label-text", titles(tmp_path, header="label,text\n"))
    small = (*OPTIONS, *SMALL[:-2], *named)
    xmach("train", log, "--model", tmp_path / "one", *small, "--executor", "local")
    xmach("train", log, "--model", tmp_path / "two", *small, "--executor", "pool", "--workers", 2)
    one, two = ({p.name: p.read_bytes() for p in (tmp_path / name).rglob("*.*")} for name in ("one", "two"))
    assert one == two


def test_faults_name_the_file_and_the_line(xmach: Run, tmp_path: Path, log: Path) -> None:
    path = titles(tmp_path, "s,running shoe\np,pan\ns,boot\n", "label,text\n")
    options = ("train", log, "--model", tmp_path / "model", *OPTIONS, *SMALL, "--label-text", path)
    assert f"{path}:4: the label 's' has a text already, in line 2" in xmach(*options, code=2).stderr
    path.write_text("product,title\ns,shoe\n")
    assert f"{path}:1: there is no column 'label'" in (said := xmach(*options, code=2).stderr)
    assert "with --label-text-columns product,title, or 0,1 if there is no header" in said
    assert not (tmp_path / "model").exists()


def test_options_that_do_not_fit(xmach: Run, tmp_path: Path, log: Path, small_file: Path) -> None:
    numbers = ("train", small_file, "--model", tmp_path / "m", "--label-text", titles(tmp_path))
    assert "--label-text needs rows of text, whose vectorizer it shares; name their" in xmach(*numbers, code=2).stderr
    alone = ("train", log, "--model", tmp_path / "m", *OPTIONS, "--label-text-columns", "a,b")
    assert "names the columns of a table: name its file with --label-text" in xmach(*alone, code=2).stderr


def test_columns_are_named_in_order() -> None:
    assert (columns_of(None).labels, columns_of(None).text, columns_of(None).header) == ("label", ("text",), True)
    assert columns_of("sku,title,brand").text == ("title", "brand")
    assert (columns_of("1,0").labels, columns_of("1,0").text, columns_of("1,0").header) == ("1", ("0",), False)
    assert columns_of("0,title").header
    with pytest.raises(ParameterError, match=r"such as product,title; got 'product'"):
        columns_of("product")
    with pytest.raises(ParameterError, match="--label-text-columns takes names of columns"):
        columns_of("product,")
    with pytest.raises(ParameterError, match="the column 'a' has two roles"):
        columns_of("a,a")
