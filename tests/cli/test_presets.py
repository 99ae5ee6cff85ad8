"""The paper's experiments: each preset is what the paper says, and trains on a small file of its data set's format."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import get_args

import numpy as np
import pytest
from tests.conftest import Run, made_up

from xmach.cli.model_options import config_of
from xmach.cli.train import PresetName
from xmach.config import MachConfig
from xmach.data import Dataset, write_xmc
from xmach.errors import ParameterError
from xmach.planning.presets import PRESETS

DATA = made_up(n_rows=120, n_features=50, n_labels=20)


def vw(path: Path, first: int) -> Path:
    """One class a row, labels counted from 1, as ODP and ImageNet come."""
    lines = []
    for i in range(DATA.n_rows):
        columns, values = DATA.features.row(i)
        pairs = " ".join(f"{column + first}:{value:g}" for column, value in zip(columns, values, strict=True))
        lines.append(f"{DATA.labels.row(i)[0][0] + 1} | {pairs}\n")
    path.write_bytes(gzip.compress("".join(lines).encode()))
    return path


def xmc(path: Path) -> Path:
    """Rows sorted by their first label, the last few without any, as Amazon-670K comes."""
    order = np.argsort([DATA.labels.row(i)[0][0] for i in range(DATA.n_rows)], kind="stable")
    data = DATA.take(order)
    indptr = np.minimum(data.labels.indptr, data.labels.indptr[-6])
    used = int(indptr[-1])
    labels = type(data.labels)(indptr, data.labels.indices[:used], data.labels.values[:used], data.n_labels)
    write_xmc(Dataset(data.features, labels), path)
    return path


def split(path: Path) -> Path:
    """Features and labels apart, as the repository's newer downloads come."""
    for name, rows in ((path, DATA.features), (path.with_name("trn_X_Y.txt"), DATA.labels)):
        lines = [f"{rows.n_rows} {rows.n_columns}\n"]
        lines += [" ".join(f"{column}:1.0" for column in rows.row(i)[0]) + "\n" for i in range(rows.n_rows)]
        name.write_text("".join(lines))
    return path


def csv(path: Path) -> Path:
    """Queries, products bought, sessions."""
    lines = ["query,products,sessions\n"]
    for i in range(DATA.n_rows):
        words = " ".join(f"word{column}" for column in DATA.features.row(i)[0])
        lines.append(f'"{words}",{"|".join(f"P{label}" for label in DATA.labels.row(i)[0])},{1 + i % 7}\n')
    path.write_text("".join(lines))
    return path


FILES: dict[str, Callable[[Path], tuple[Path, list[str]]]] = {
    "odp": lambda folder: (vw(folder / "odp_train.vw.gz", first=1), []),
    "imagenet": lambda folder: (vw(folder / "training.txt.gz", first=0), []),
    "wiki10-31k": lambda folder: (xmc(folder / "train.txt"), []),
    "delicious-200k": lambda folder: (split(folder / "trn_X_Xf.txt"), []),
    "amazon-670k": lambda folder: (xmc(folder / "train.txt"), []),
    "amazon-search": lambda folder: (
        csv(folder / "purchases.csv"),
        [
            "--text",
            "query",
            "--labels",
            "products",
            "--label-separator",
            "|",
            "--weight",
            "sessions",
            "--features",
            "500",
        ],
    ),
}


@pytest.mark.parametrize("name", FILES)
def test_each_preset_trains_on_a_small_file_of_its_format(xmach: Run, tmp_path: Path, name: str) -> None:
    file, options = FILES[name](tmp_path)
    model = tmp_path / "model"
    small = ("--buckets", 8, "--repetitions", 3, "--epochs", 4, "--learning-rate", 0.01, "--executor", "local")
    trained = xmach("train", file, "--model", model, "--preset", name, *options, *small)
    assert f"preset {name}: this file has" in trained.stderr
    network = json.loads((model / "plan.json").read_text())["network"]
    assert tuple(network["hidden"]) == PRESETS[name].config.hidden
    assert network["loss"] == PRESETS[name].config.loss
    found = json.loads(xmach("evaluate", model, file, "--k", "1", "--json").stdout)
    assert found["estimator"] == "mean"
    assert found["metrics"]["precision@1"] > 0.2  # one of 20 labels by chance is 0.05 to 0.1


@pytest.mark.parametrize(
    ("name", "buckets", "expected"),
    [
        ("odp", None, (32, 25, (), "softmax", 10, 512)),
        ("odp", 4, (4, 50, (), "softmax", 10, 512)),
        ("imagenet", None, (512, 20, (), "softmax", 5, 512)),
        ("wiki10-31k", None, (2000, 32, (500, 500), "bce", 60, 100)),
        ("wiki10-31k", 1000, (1000, 32, (500, 500), "bce", 60, 100)),
        ("delicious-200k", None, (5000, 32, (500, 500), "bce", 20, 1000)),
        ("amazon-670k", None, (10_000, 32, (500, 500), "bce", 40, 1000)),
        ("amazon-670k", 5000, (5000, 32, (500, 500), "bce", 40, 1000)),
        ("amazon-search", None, (20_000, 32, (2000,), "bce", 10, 1000)),
        (None, None, ("auto", "auto", (500,), "softmax", 10, 256)),
    ],
)
def test_presets_are_what_the_paper_says(name: str | None, buckets: int | None, expected: tuple) -> None:
    config = config_of({"n_buckets": buckets}, name)
    network = config.network
    found = (config.n_buckets, config.n_repetitions, network.hidden, network.loss, network.epochs, network.batch_size)
    assert found == expected
    assert (config.scaling, config.estimator) == (("none", "mean") if name else ("auto", "auto"))
    assert network.learning_rate == (1e-3 if name else 2e-3)


def test_what_is_given_overrides_the_preset() -> None:
    assert config_of({"epochs": 3}, "odp").epochs == 3
    assert config_of({"n_buckets": 4, "n_repetitions": 2}, "odp").n_repetitions == 2


def test_every_preset_has_its_name() -> None:
    assert list(get_args(PresetName)) == ["paper", *PRESETS]
    assert list(PRESETS) == list(FILES)


def test_the_procedure_of_the_paper_with_numbers_of_ones_own() -> None:
    config = config_of({"n_buckets": 32, "n_repetitions": 4, "hidden": "20"}, "paper")
    given = {"n_buckets": 32, "n_repetitions": 4, "hidden": (20,)}
    procedure = {"learner": "network", "bucketing": "random", "estimator": "mean", "scaling": "none", "ranker": "none"}
    assert config == MachConfig(**given, **procedure)
    with pytest.raises(ParameterError, match=r"preset paper leaves .*: give --repetitions ..., --hidden ...$"):
        config_of({"n_buckets": 32}, "paper")


def test_the_paper_counts_as_many_parameters() -> None:
    from xmach.planning import network_parameters

    for buckets, billions in ((10_000, 5.77), (20_000, 6.4)):
        each = network_parameters(80_000, PRESETS["amazon-search"].config.hidden, buckets)
        assert round(32 * each / 1e9, 2) == pytest.approx(billions, abs=0.011)
