"""`MachConfig`: the options of both learners, and of everything else that decides about a model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from xmach.config.group import OptionGroup, options_of
from xmach.config.linear import LinearSettings
from xmach.config.names import (
    AUTO,
    BUCKETINGS,
    ESTIMATORS,
    LEARNERS,
    LINEAR,
    NETWORK,
    PRECISION,
    RANKER_GOALS,
    RANKERS,
    SCALINGS,
)
from xmach.config.network import NetworkSettings
from xmach.config.option import Option, choice_option, option, whole_option
from xmach.errors import ParameterError
from xmach.parameters import MOST_REPETITIONS, whole

_OF_EVERY_LEARNER = ("store_bits",)


def _learner(name: str, value: Any) -> Any:
    named = (AUTO, *LEARNERS)
    if value not in named if isinstance(value, str) else isinstance(value, type) or not hasattr(value, "fit"):
        known = ", ".join(map(repr, named))
        raise ParameterError(
            f"{name} must be {known} or a scikit-learn classifier (an object, not its class) with predict_proba or "
            f"decision_function; got {value!r}"
        )
    return value


@dataclass(frozen=True, kw_only=True, repr=False)
class MachConfig(NetworkSettings, LinearSettings):
    """What to train: everything that decides which model comes out of given rows."""

    n_buckets: Any = whole_option(
        AUTO, "B, the buckets that labels are hashed into; more buckets, fewer collisions, larger models.", 2,
        2**31 - 1, flag="--buckets",
    )  # fmt: skip
    n_repetitions: Any = whole_option(
        AUTO, "R, the independent hashes and classifiers; accuracy rises with it.", 1, MOST_REPETITIONS,
        flag="--repetitions",
    )  # fmt: skip
    bucketing: str = choice_option(
        AUTO, "random: by hashes; clustered: similar labels share a bucket; mixed: alternately, for top 100.",
        (AUTO, *BUCKETINGS), flag="--bucketing",
    )  # fmt: skip
    scaling: str = choice_option(
        AUTO, "auto: sublinear tf-idf for sparse rows without negative values.", (AUTO, *SCALINGS), flag="--scaling"
    )
    estimator: str = choice_option(
        AUTO, "How to score a label from its buckets; auto: the best on validation rows, log without them.",
        (AUTO, *ESTIMATORS), flag="--estimator",
    )  # fmt: skip
    learner: Any = field(
        default=AUTO,
        metadata={
            "option": Option(
                "linear: sparse linear classifiers, for sparse rows such as texts; network: for dense rows; auto: by "
                "the rows and the other options.",
                _learner, str, (AUTO, *LEARNERS), "--learner",
            )
        },
    )  # fmt: skip
    ranker: str = choice_option(
        AUTO, "Second look at the best labels: none, by profiles of the labels, or also by a linear classifier of each "
        "label; auto: linear, but none if a network or an estimator was asked for, or rows are dense.",
        (AUTO, *RANKERS), flag="--ranker",
    )  # fmt: skip
    ranker_bytes: Any = option(
        None, "The most bytes of all ranker files; the smallest weights of profiles and classifiers are dropped.",
        lambda name, value: None if value is None else whole(name, value, 1), str, "--ranker-bytes", None,
    )  # fmt: skip
    ranker_goal: str = choice_option(
        PRECISION, "What the ranker's weights are chosen for. precision: P@1 and nDCG@5; propensity: PSP@1 and PSP@5, "
        "which count rare labels more.",
        RANKER_GOALS, flag="--ranker-goal",
    )  # fmt: skip
    seed: int = whole_option(0, "Same seed, same bytes.", 0, 2**63 - 1, flag="--seed", parameter="random_state")

    def __post_init__(self) -> None:
        self._check()
        others = {NETWORK: self._given(LinearSettings), LINEAR: self._given(NetworkSettings)}
        wrong = others.get(self.implied_learner, []) if isinstance(self.learner, str) else []
        if wrong:
            other = LINEAR if self.implied_learner == NETWORK else NETWORK
            raise ParameterError(
                f"the learner is {self.implied_learner!r}, but only learner={other!r} takes {' and '.join(wrong)}"
            )

    def _given(self, group: type[OptionGroup]) -> list[str]:
        """The options of a learner that are not at their defaults, with their values."""
        default = {each.name: each.default for each in fields(group)}
        names = [name for name in default if name not in _OF_EVERY_LEARNER and getattr(self, name) != default[name]]
        return [f"{name}={getattr(self, name)!r}" for name in names]

    @property
    def implied_learner(self) -> Any:
        """The learner; if that is `auto`, the one that other options belong to, if there are any."""
        if not isinstance(self.learner, str) or self.learner != AUTO:
            return self.learner
        if self._given(NetworkSettings):
            return NETWORK
        return LINEAR if self._given(LinearSettings) else AUTO

    @property
    def network(self) -> NetworkSettings:
        """The network's part, with `auto` resolved."""
        return NetworkSettings(**{name: getattr(self, name) for name in options_of(NetworkSettings)})

    @property
    def linear(self) -> LinearSettings:
        """The part of linear buckets; its cost and passes may still be `auto`."""
        return LinearSettings(**{name: getattr(self, name) for name in options_of(LinearSettings)})


def options(settings: type[OptionGroup] = MachConfig) -> Mapping[str, Option]:
    """The options by name: those of the class itself, then those that it inherits."""
    return options_of(settings)


DEFAULTS = MachConfig()
