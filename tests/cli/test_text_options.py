"""`--vocabulary` and `--values`: learned once, the same whatever the workers, told and refused in words."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.conftest import Run

from xmach import load
from xmach.cli.inspect import _text as described
from xmach.cli.texts import check_text_options, learn_vocabulary, scaling_of, text_features, vocabulary_sizes
from xmach.data import Columns, ReadOptions
from xmach.errors import ParameterError
from xmach.features import HashedText, VocabularyText
from xmach.planning import DataSize, Shape, training_bytes

TEXTS = [f"{['red shoe', 'iron pan', 'green tea', 'blue sock'][i % 4]} {i}" for i in range(40)]
LABELS = ["abcd"[i % 4] for i in range(40)]
SMALL = ("--buckets", 3, "--repetitions", 2, "--hidden", 8, "--epochs", 3)
COLUMNS = ("--text", "query", "--labels", "bought", "--features", 500, "--vocabulary", "30,20,60,40")
TEXT = VocabularyText(500, 30, 20, 60, 40)


def csv(folder: Path, texts: list[str] = TEXTS) -> Path:
    path = folder / "shop.csv"
    path.write_text("query,bought\n" + "".join(f"{t},{y}\n" for t, y in zip(texts, LABELS, strict=True)))
    return path


def files(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*.*")}


def test_a_vocabulary_is_learned_once_and_workers_do_not_show(xmach: Run, tmp_path: Path) -> None:
    shop = csv(tmp_path)
    one = xmach("train", shop, "--model", tmp_path / "one", *COLUMNS, *SMALL, "--executor", "local")
    assert "vocabulary: 30 words, 20 bigrams, 60 trigrams" in one.stderr
    assert load(tmp_path / "one").text == TEXT.learn(TEXTS)
    two = xmach("train", shop, "--model", tmp_path / "two", *COLUMNS, *SMALL, "--workers", 2)
    assert "vocabulary:" not in two.stderr  # the cache has it
    assert files(tmp_path / "one") == files(tmp_path / "two")


def test_a_damaged_vocabulary_in_the_cache_is_learned_again(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shop, cache = csv(tmp_path), tmp_path / "cache"
    options = ReadOptions(columns=Columns(text=("query",), labels="bought"))
    first = learn_vocabulary(TEXT, shop, "csv", options, cache)
    (kept,) = cache.glob("*.vocabulary")
    whole = kept.read_bytes()
    kept.write_bytes(whole[:-8])
    assert learn_vocabulary(TEXT, shop, "csv", options, cache) == first == TEXT.learn(TEXTS)
    assert "damaged; the vocabulary is learned again" in capsys.readouterr().err
    assert kept.read_bytes() == whole
    csv(tmp_path, [*TEXTS[:-1], "other texts"])
    assert learn_vocabulary(TEXT, shop, "csv", options, cache) != first


def test_inspect_tells_the_features() -> None:
    assert described(None) == ""
    assert described(HashedText().to_dict()) == "text, "
    told = described(VocabularyText(500, 3000, 20, 60, 40, binary=True).to_dict())
    assert told == "text, ones, a vocabulary of up to 3,000 words, 20 bigrams, 60 trigrams, 40 slots for others, "


def test_json_lines_have_the_same_vocabulary_and_bad_rows_none(xmach: Run, tmp_path: Path) -> None:
    lines = [json.dumps({"query": t, "bought": y}) for t, y in zip(TEXTS, LABELS, strict=True)]
    lines.insert(3, '{"query": 7, "bought": "a"}')
    path = tmp_path / "shop.jsonl"
    path.write_text("\n".join(lines) + "\n")
    options = ("--model", tmp_path / "m", *COLUMNS, *SMALL, "--executor", "local")
    assert f"{path}:4:" in xmach("train", path, *options, code=2).stderr
    xmach("train", path, *options, "--on-error", "skip", "--values", "binary")
    model = load(tmp_path / "m")
    assert model.text == VocabularyText(500, 30, 20, 60, 40, binary=True).learn(TEXTS)
    assert model.scaler.kind == "l2"


def test_what_does_not_fit_is_refused_before_anything_is_read(xmach: Run, tmp_path: Path) -> None:
    options = ("--model", tmp_path / "m", "--labels", "bought", "--vocabulary", "paper")
    assert "--vocabulary is for text" in xmach("train", csv(tmp_path), *options, code=2).stderr
    assert not (tmp_path / "m").exists()


def test_options_without_text_are_refused() -> None:
    check_text_options("query", "paper", "binary")
    check_text_options(None, None, None)
    with pytest.raises(ParameterError, match="--vocabulary is for text; name its column with --text"):
        check_text_options(None, "paper", None)
    with pytest.raises(ParameterError, match="--values is for text; name its column with --text"):
        check_text_options(None, None, "binary")


def test_plan_takes_a_vocabulary(xmach: Run) -> None:
    known = ("--classes", 1000, "--features", 80_000, "--rows", 100_000, "--vocabulary", "paper", "--json")
    known += ("--learner", "network")
    found = json.loads(xmach("plan", *known, "--source", "text").stdout)
    shape = Shape(found["labels"], 80_000, tuple(found["hidden"]), found["buckets"], found["repetitions"])
    data = DataSize(100_000, 100.0, source="text", vocabulary=215_000)
    assert found["training_bytes"] == training_bytes(shape, data, 256)
    assert "--vocabulary is for text; say --source text" in xmach("plan", *known, code=2).stderr


@pytest.mark.parametrize("given", ["", "a,b,c,d", "1,2,3,4,5", "1,2,3", "-1,2,3,4", "0,0,0,4"])
def test_sizes_of_a_vocabulary_are_checked(given: str) -> None:
    with pytest.raises(ParameterError, match=r"--vocabulary takes .* such as 125000,20000,70000,500000, or paper; got"):
        vocabulary_sizes(given)


def test_options_become_features() -> None:
    assert text_features(None, None, None) == HashedText()
    assert text_features(300, None, "binary") == HashedText(300, binary=True)
    assert text_features(None, "paper", "counts") == VocabularyText()
    assert text_features(300, "5,0,7,0", None) == VocabularyText(300, 5, 0, 7, 0)


def test_values_say_how_rows_are_scaled_unless_scaling_does() -> None:
    assert scaling_of(None, None) is None
    assert scaling_of(None, "none") == "none"
    assert scaling_of("binary", None) == scaling_of("counts", "auto") == "l2"
    assert scaling_of("tfidf", None) == scaling_of("tfidf", "tfidf") == "tfidf"
    assert scaling_of("binary", "tfidf") == "tfidf"
    assert scaling_of("counts", "none") == "none"
    with pytest.raises(ParameterError, match="leave out --scaling none"):
        scaling_of("tfidf", "none")
