"""One configuration: the command line, the estimator, the presets and plan.json agree with `MachConfig`."""

from __future__ import annotations

import dataclasses
import inspect
import json
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from tests.conftest import made_up

from xmach import MACHClassifier
from xmach.cli.arguments import EstimatorName, Format
from xmach.cli.model_options import checked_options, config_of
from xmach.cli.plan import plan as plan_command
from xmach.cli.progress import with_flags
from xmach.cli.train import train as train_command
from xmach.config import DEFAULTS, ESTIMATORS, EXECUTORS, MachConfig, NetworkSettings, options
from xmach.data.read.formats import READERS
from xmach.errors import ParameterError
from xmach.planning.presets import PRESETS
from xmach.store import ModelStore
from xmach.training import fit

ESTIMATOR_ONLY = {"features", "validation", "n_jobs"}  # parameters of `MACHClassifier` that are not about the model
BAD: dict[str, Any] = {
    "n_buckets": 1, "n_repetitions": 0, "bucketing": "other", "scaling": "other", "estimator": "other", "seed": -1,
    "hidden": "x", "loss": "other", "epochs": 0, "batch_size": 0, "learning_rate": 0.0, "weight_decay": -1.0,
    "dropout": 1.0, "skip_below": 1.0, "learner": "other", "linear_loss": "other", "cost": 0, "passes": "few",
    "prune_below": -0.1, "store_bits": 7, "ranker": "other", "ranker_bytes": 0, "ranker_goal": "recall",
}  # fmt: skip


def parameter_of(name: str) -> str:
    return options()[name].parameter or name


def test_the_estimator_has_every_option_with_its_default_and_help() -> None:
    defaults = {name: each.default for name, each in inspect.signature(MACHClassifier).parameters.items()}
    ours = {parameter_of(name): getattr(DEFAULTS, name) for name in options() if name != "patience"}
    assert {name: value for name, value in defaults.items() if name not in ESTIMATOR_ONLY} == ours
    words = " ".join((MACHClassifier.__doc__ or "").split())
    for name, option in options().items():
        if name not in ("seed", "patience"):
            assert f"{name} : " in words
            assert " ".join(option.help.split()) in words


@pytest.mark.parametrize("command", [train_command, plan_command], ids=["train", "plan"])
def test_the_command_line_has_every_flag_with_its_choices_default_and_help(command: Any) -> None:
    parameters = inspect.signature(command).parameters
    shown = {name for name in options() if name in parameters}
    if command is train_command:
        assert shown == {name for name, option in options().items() if option.flag}
    for name in shown:
        option, kind = options()[name], parameters[name].annotation
        described = kind.__metadata__[0]
        choices = [get_args(part) for part in get_args(kind.__origin__) if get_args(part)]
        assert choices == ([option.choices] if option.choices else [])
        assert described.default == option.flag
        assert described.help == option.help
        default = getattr(DEFAULTS, name)
        text = ",".join(map(str, default)) if isinstance(default, tuple) else str(default)
        assert described.show_default in (text, "proposed")


def test_options_not_given_are_the_defaults() -> None:
    assert config_of(dict.fromkeys(options())) == DEFAULTS == MachConfig()
    assert config_of({"hidden": "none"}).hidden == ()
    assert config_of({"hidden": "30,20"}).hidden == (30, 20)


@pytest.mark.parametrize("name", BAD)
def test_errors_name_the_parameter_in_python_and_the_flag_on_the_command_line(name: str) -> None:
    assert options()[name].flag is not None
    with pytest.raises(ParameterError, match=parameter_of(name)):
        MachConfig(**{name: BAD[name]})
    with pytest.raises(ParameterError, match=str(options()[name].flag)):
        checked_options({name: BAD[name]})


def test_every_flag_is_tried() -> None:
    assert set(BAD) == {name for name, option in options().items() if option.flag}


def test_presets_are_configurations() -> None:
    for preset in PRESETS.values():
        assert isinstance(preset.config, MachConfig)
        assert preset.repetitions[preset.config.n_buckets] == preset.config.n_repetitions


def test_a_plan_records_every_option(tmp_path: Path) -> None:
    """What is in plan.json makes the configuration again, apart from what was `auto`."""
    config = MachConfig(
        n_buckets=8, n_repetitions=2, hidden=(6,), loss="bce", epochs=1, batch_size=32, learning_rate=0.01,
        weight_decay=0.1, dropout=0.2, patience=3, bucketing="mixed", scaling="l2", estimator="min", seed=5,
        learner="network",
    )  # fmt: skip
    fit(made_up(60), config, tmp_path / "model", executor="local")
    values, plan = json.loads((tmp_path / "model" / "plan.json").read_text()), ModelStore(tmp_path / "model").plan()
    manifest = json.loads((tmp_path / "model" / "manifest.json").read_text())
    found = {name: values["network"][name] for name in options(NetworkSettings) if name in values["network"]}
    found |= {"hidden": tuple(found["hidden"])}
    again = MachConfig(
        n_buckets=plan.hashes.n_buckets,
        n_repetitions=plan.hashes.n_repetitions,
        bucketing=plan.bucketing,
        scaling=plan.scaling,
        estimator=manifest["estimator"],
        seed=plan.seed,
        learner=plan.learner,
        **found,
    )
    assert again == config


def test_lists_of_words_on_the_command_line_are_those_of_the_library() -> None:
    assert get_args(Format) == ("auto", *READERS)
    assert get_args(EstimatorName) == ("auto", *ESTIMATORS)
    assert get_args(get_args(inspect.signature(train_command).parameters["executor"].annotation)[0]) == EXECUTORS


def test_a_configuration_survives_json() -> None:
    config = MachConfig(n_buckets=7, seed=3, hidden=(4,), bucketing="mixed")
    assert MachConfig.from_dict(json.loads(json.dumps(config.to_dict()))) == config


@pytest.mark.parametrize("learner", ["other", None, 5, LogisticRegression])
def test_a_learner_is_the_network_or_a_classifier(learner: Any) -> None:
    with pytest.raises(
        ParameterError, match=r"must be 'auto', 'network', 'linear' or a scikit-learn classifier \(an object"
    ):
        MachConfig(learner=learner)


@pytest.mark.parametrize("hidden", ["500", b"5", 5, None, np.array(5)])
def test_hidden_is_a_tuple(hidden: Any) -> None:
    with pytest.raises(ParameterError, match="hidden must be a tuple of layer widths"):
        MachConfig(hidden=hidden)


def test_messages_of_the_library_name_options_as_they_are_typed() -> None:
    assert with_flags("n_buckets=5 is more than the 3 labels") == "--buckets 5 is more than the 3 labels"
    assert with_flags("bucketing='mixed' is random buckets") == "--bucketing mixed is random buckets"
    with pytest.raises(ParameterError, match="--skip-below needs softmax and a hidden layer"):
        config_of({"skip_below": 0.01, "hidden": "none"})


def test_a_configuration_is_frozen_and_made_of_plain_values() -> None:
    config = MachConfig(n_buckets=np.int64(8), learning_rate=np.float32(0.5))
    assert type(config.n_buckets) is int
    assert type(config.learning_rate) is float
    with pytest.raises(dataclasses.FrozenInstanceError):
        config.n_buckets = 9  # type: ignore[misc]
