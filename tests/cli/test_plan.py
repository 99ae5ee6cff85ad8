"""`xmach plan` prints the paper's figures, proposes, and refuses in one line."""

from __future__ import annotations

import json

import pytest
import typer
from typer.testing import CliRunner

from xmach.cli.plan import plan
from xmach.errors import ParameterError
from xmach.planning import drawn_pairs

ODP = ["--classes", "105033", "--features", "422713", "--hidden", "none"]

app = typer.Typer()
app.command()(plan)


def run(*arguments: str) -> str:
    result = CliRunner().invoke(app, list(arguments), catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.stdout


def test_odp_is_the_papers() -> None:
    text = run(*ODP, "--buckets", "32", "--repetitions", "25")
    assert "1.26 GiB against 165 GiB one-vs-all: 131 times smaller" in text
    assert "340,796,225 against 44,398,814,529" in text
    assert "Theorem 2 asks for 9 (delta = 0.001)" in text
    assert "0 in the draw of seed 0" in text


def test_odp_with_four_buckets() -> None:
    assert "0.31 GiB against 165 GiB" in run(*ODP, "--buckets", "4", "--repetitions", "50")


def test_json_has_every_figure() -> None:
    facts = json.loads(run(*ODP, "--buckets", "32", "--repetitions", "25", "--rows", "100000", "--json"))
    assert facts["bytes"] == 25 * 4 * (422_713 * 32 + 32)
    assert round(facts["reduction"]) == 131
    assert facts["operations"] == 25 * (32 * 422_713 + 105_033)
    assert facts["training_parts"]["total"] == facts["training_bytes"] > 3 * facts["bytes"] / 25
    assert facts["prediction_bytes"] > facts["bytes"]
    assert facts["indistinguishable_pairs"] == 0
    assert facts["labels_a_bucket"] == 105_033 / 32


def test_a_budget_is_kept() -> None:
    arguments = ["--classes", "670091", "--features", "135909", "--memory", "2GB", "--workers", "4"]
    facts = json.loads(run(*arguments, "--json"))
    assert max(facts["training_bytes"], facts["prediction_bytes"]) <= 2 * 10**9
    assert 1 <= facts["workers"] <= 4
    text = run(*arguments)
    assert "would not fit into 1.86 GiB" in text
    assert all(f"- {why}" in text for why in facts["reasons"])


def test_a_ranker_is_counted_unless_it_is_left_out() -> None:
    tate = [
        "--classes",
        "16456",
        "--features",
        "132190",
        "--rows",
        "52922",
        "--nonzeros",
        "32",
        "--labels-per-row",
        "6",
    ]
    linear, profile, none = (
        json.loads(run(*tate, "--ranker", kind, "--json")) for kind in ("linear", "profile", "none")
    )
    assert json.loads(run(*tate, "--json")) == linear
    assert linear["ranker_bytes"] > profile["ranker_bytes"] > none["ranker_bytes"] == 0
    for name in ("training_bytes", "prediction_bytes"):
        assert linear[name] > profile[name] > none[name]
    assert none["training_parts"]["ranking"] == 0
    assert "\nranker               profile, about " in run(*tate, "--ranker", "profile")
    limited = json.loads(run(*tate, "--ranker-bytes", "1000000", "--json"))
    assert limited["ranker_bytes"] < linear["ranker_bytes"] / 2


def test_tables_of_buckets_are_counted() -> None:
    large = ["--classes", "50000000", "--features", "1000", "--hidden", "none", "--buckets", "70000", "--no-exact"]
    found = {}
    for name in ("random", "mixed", "clustered"):
        given = [*large, "--repetitions", "5", "--bucketing", name]
        found[name] = json.loads(run(*given, "--json"))
        assert found[name]["bucketing"] == name
        assert ("of 5 repetitions have buckets of labels that are alike" in run(*given)) == (name != "random")
    # a decoder keeps a bucket and a place in a list of every label and repetition where it cannot compute them
    kept = {name: facts["prediction_bytes"] - found["random"]["prediction_bytes"] for name, facts in found.items()}
    assert kept["mixed"] == kept["clustered"] > 50_000_000 * 5 * 8
    tables = [facts["training_parts"]["parent"] for facts in found.values()]
    assert [size - tables[0] for size in tables] == [0, 2 * 4 * 50_000_000, 5 * 4 * 50_000_000]


def test_labels_alone_give_the_theory() -> None:
    text = run("--classes", "1000", "--buckets", "3", "--repetitions", "4")
    assert "Theorem 2 asks for 19" in text
    assert "R = 4 was given" in text
    assert "model" not in text
    assert "features" not in json.loads(run("--classes", "1000", "--json"))


def test_pairs_of_many_labels_are_counted_when_asked_for() -> None:
    many = ["--classes", "300001", "--buckets", "1000", "--repetitions", "2", "--json"]
    assert json.loads(run(*many))["indistinguishable_pairs"] is None
    counted = json.loads(run(*many, "--exact", "--seed", "3"))["indistinguishable_pairs"]
    assert counted == drawn_pairs(300_001, 1000, 2, seed=3) > 0
    assert "not counted" in run(*many[:-1])
    assert json.loads(run("--classes", "10", "--no-exact", "--json"))["indistinguishable_pairs"] is None


def test_a_model_larger_than_one_vs_all_is_said_to_be() -> None:
    assert "times larger" in run("--classes", "100", "--features", "5000", "--hidden", "50", "--buckets", "20")


LINEAR = ["--classes", "16456", "--features", "132190", "--rows", "52922", "--nonzeros", "32", "--learner", "linear"]


def test_linear_buckets_in_words() -> None:
    text = run(*LINEAR, "--labels-per-row", "6.1")
    assert "linear buckets       132190-1000, about" in text
    assert "8.10 GiB one-vs-all" in text
    assert "pruned, too" in text
    assert "while the cost is chosen" in text
    assert "hidden" not in text
    assert "while the cost is chosen" not in run(*LINEAR, "--cost", "1", "--passes", "5")


def test_linear_buckets_in_json() -> None:
    facts = json.loads(run(*LINEAR, "--labels-per-row", "6.1", "--cost", "0.3", "--json"))
    assert facts["learner"] == "linear"
    assert (facts["buckets"], facts["repetitions"], facts["weight_bits"]) == (1000, 8, 8)
    assert facts["bytes"] == 8 * facts["repetition_bytes"] > 6 * 2 * facts["expected_weights"]
    assert facts["training_parts"]["joining"] > 0
    assert facts["training_parts"]["total"] == facts["training_bytes"]
    assert facts["pruned_one_vs_all_bytes"] < facts["one_vs_all_bytes"]
    assert "hidden" not in facts
    exact = json.loads(run(*LINEAR, "--labels-per-row", "6.1", "--cost", "0.3", "--store-bits", "32", "--json"))
    assert exact["bytes"] > 2 * facts["bytes"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--classes", "100", "--memory", "4GB"], "--memory needs --features"),
        (["--classes", "100", "--features", "10", "--memory", "4XB"], "--memory takes a size such as 4GB"),
        (["--classes", "100", "--features", "10", "--memory", "1MB"], "nothing fits into 976.56 KiB: the least is"),
        (["--classes", "0"], "--classes must be a whole number from 1"),
        (["--classes", "10", "--features", "0"], "--features must be a whole number from 1"),
        (["--classes", "10", "--buckets", "1"], "--buckets must be a whole number from 2"),
        (["--classes", "10", "--repetitions", "0"], "--repetitions must be a whole number from 1"),
        (["--classes", "10", "--delta", "2"], "delta must be a number in"),
        (["--classes", "10", "--features", "5", "--learner", "linear"], "--learner linear needs --rows"),
        (["--classes", "10", "--learner", "linear", "--hidden", "5"], "only --learner network takes --hidden"),
        (["--classes", "10", "--hidden", "a"], "--hidden takes whole numbers"),
    ],
)
def test_refusals(arguments: list[str], message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        run(*arguments)
