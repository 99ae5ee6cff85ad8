"""The paper's experiments: its data sets, and the settings it trained them with."""

from __future__ import annotations

from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

from xmach.config import AUTO, NETWORK, NONE, RANDOM, MachConfig
from xmach.errors import ParameterError

# The paper's procedure: hashed buckets, one network each, the mean of their probabilities, raw features.
PAPER = MachConfig(learner=NETWORK, bucketing=RANDOM, estimator="mean", scaling="none", ranker=NONE)
PAPER_NAME, PAPER_NEEDS = "paper", ("n_buckets", "n_repetitions", "hidden")


@dataclass(frozen=True)
class Preset:
    """A data set of the paper and how it was trained there; `ours` names what the paper leaves open."""

    name: str
    n_features: int
    n_labels: int
    train_rows: int
    repetitions: MappingProxyType[int, int]  # R for each B that the paper reports, its main result first
    config: MachConfig  # of the main result
    reached: str  # the paper's main result
    ours: str = ""  # what the paper does not say

    def with_options(self, given: dict[str, Any]) -> MachConfig:
        """The paper's settings, overridden by the given options; R follows from B where the paper has that B."""
        n_buckets = given.get("n_buckets", self.config.n_buckets)
        n_repetitions = self.repetitions.get(n_buckets, self.config.n_repetitions)
        return replace(self.config, **{"n_repetitions": n_repetitions, **given})


def _preset(
    name: str,
    sizes: tuple[int, int, int],  # features, labels, training rows
    repetitions: tuple[tuple[int, int], ...],
    reached: str,
    ours: str = "",
    **options: Any,
) -> Preset:
    n_buckets, n_repetitions = repetitions[0]
    config = replace(
        PAPER,
        n_buckets=n_buckets,
        n_repetitions=n_repetitions,
        learning_rate=1e-3,
        **options,
    )
    return Preset(name, *sizes, MappingProxyType(dict(repetitions)), config, reached, ours)


_OPEN = "epochs and batch size"
_ALL = (
    _preset(
        "odp", (422_713, 105_033, 1_084_404), ((32, 25), (4, 50)), "accuracy 15.446 % (B = 32, R = 25)", _OPEN,
        hidden=(), loss="softmax", epochs=10, batch_size=512,
    ),
    _preset(
        "imagenet", (6_144, 21_841, 12_777_062), ((512, 20),), "accuracy 10.675 %", _OPEN,
        hidden=(), loss="softmax", epochs=5, batch_size=512,
    ),
    _preset(
        "wiki10-31k", (101_938, 30_938, 14_146), ((2000, 32), (1000, 32)), "P@1 85.44 % (B = 1000: 84.74 %)",
        hidden=(500, 500), loss="bce", epochs=60, batch_size=100,
    ),
    _preset(
        "delicious-200k", (782_585, 205_443, 196_606), ((5000, 32), (1000, 32)), "P@1 43.66 %",
        hidden=(500, 500), loss="bce", epochs=20, batch_size=1000,
    ),
    _preset(
        "amazon-670k", (135_909, 670_091, 490_449), ((10_000, 32), (5000, 32)), "P@1 41.41 % (B = 5000: 40.64 %)",
        hidden=(500, 500), loss="bce", epochs=40, batch_size=1000,
    ),
    _preset(
        "amazon-search", (80_000, 49_462_358, 70_301_491), ((20_000, 32), (10_000, 32)),
        "weighted recall@100 65.41 % (B = 10,000: 64.19 %)",
        "batch size; one hidden layer of 2,000, which gives the paper's number of parameters",
        hidden=(2000,), loss="bce", epochs=10, batch_size=1000,
    ),
)  # fmt: skip
PRESETS: MappingProxyType[str, Preset] = MappingProxyType({preset.name: preset for preset in _ALL})


def preset_config(name: str, given: dict[str, Any]) -> MachConfig:
    """The settings of a preset, overridden by the given options."""
    if name != PAPER_NAME:
        return preset_named(name).with_options(given)
    config = replace(PAPER, **given)
    missing = [option for option in PAPER_NEEDS if getattr(config, option) == AUTO]
    if missing:
        needed = ", ".join(f"{option}=..." for option in missing)
        raise ParameterError(f"preset {PAPER_NAME} leaves B, R and the layers to you: give {needed}")
    return config


def preset_named(name: str) -> Preset:
    """The preset of an experiment of the paper."""
    if name not in PRESETS:
        raise ParameterError(f"preset must be one of {', '.join((*PRESETS, PAPER_NAME))}; got {name!r}")
    return PRESETS[name]
