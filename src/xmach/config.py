"""Every training option once: name, default, range or choices, and one line of help.

The options of the command line, the parameters and docstring of `MACHClassifier`, the presets and plan.json all derive
from the fields below.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from types import MappingProxyType
from typing import Any, TypeAlias, TypeVar

from xmach.errors import ParameterError
from xmach.parameters import MOST_REPETITIONS, real, whole

AUTO = "auto"
RANDOM = "random"  # buckets from hashes alone
MIXED = "mixed"
NETWORK, LINEAR = "network", "linear"  # the built-in learners
LEARNERS = (NETWORK, LINEAR)
BUCKETINGS = (RANDOM, MIXED, "clustered")
ESTIMATORS = ("mean", "min", "median", "log")
LOSSES = ("softmax", "bce")
SQUARED_HINGE, LOGISTIC, SOFTMAX, BOTH = "squared_hinge", "logistic", "softmax", "both"
LINEAR_LOSSES = (SQUARED_HINGE, LOGISTIC, SOFTMAX, BOTH)
LOGISTIC_COST = 15.0  # times the cost of the squared hinge; the best was 17 times it on bibtex, 10 on delicious
STORE_BITS = (8, 32)
NONE, PROFILE, LINEAR_RANKER = RANKERS = ("none", "profile", "linear")  # what looks twice at MACH's shortlist
SCALINGS = ("none", "tfidf", "l2")
EXECUTORS = (AUTO, "local", "pool")

NETWORK_DEFAULTS = {"hidden": (500,), "loss": LOSSES[0], "epochs": 10, "learning_rate": 2e-3}  # what `auto` means

Check: TypeAlias = Callable[[str, Any], Any]  # (name to show in an error, value) -> the value as a plain Python value
Settings = TypeVar("Settings", bound="OptionGroup")


@dataclass(frozen=True)
class Option:
    """What there is to know about one option, apart from its name and default."""

    help: str
    check: Check
    type: type = str  # what the command line parses
    choices: tuple[str, ...] = ()
    flag: str | None = None  # its name on the command line; None: Python only
    parameter: str | None = None  # its name in `MACHClassifier`; None: not a parameter


def _option(default: Any, help: str, check: Check, type: type, flag: str | None, parameter: str | None) -> Any:
    return field(default=default, metadata={"option": Option(help, check, type, (), flag, parameter)})


def _whole(
    default: int | str,
    help: str,
    low: int,
    high: int | None = None,
    flag: str | None = None,
    parameter: str | None = None,
) -> Any:
    def check(name: str, value: Any) -> int:
        return whole(name, value, low, high)

    if default == AUTO:
        return _option(AUTO, help, _auto_or(check), str, flag, parameter)
    return _option(default, help, check, int, flag, parameter)


def _real(default: float | str, help: str, low: float, high: float, *, with_low: bool, flag: str) -> Any:
    def check(name: str, value: Any) -> float:
        return real(name, value, low, high, with_low=with_low)

    if default == AUTO:
        return _option(AUTO, help, _auto_or(check), str, flag, None)
    return _option(default, help, check, float, flag, None)


def _choice(default: str, help: str, choices: tuple[str, ...], flag: str) -> Any:
    def check(name: str, value: Any) -> str:
        if not isinstance(value, str) or value not in choices:
            raise ParameterError(f"{name} must be one of {', '.join(choices)}, got {value!r}")
        return value

    return field(default=default, metadata={"option": Option(help, check, str, choices, flag)})


def layer_widths(name: str, value: Any) -> tuple[int, ...]:
    """Hidden layers as a tuple of widths, from any sequence of whole numbers."""
    try:
        widths = None if isinstance(value, str | bytes) else tuple(value)
    except TypeError:
        widths = None
    if widths is None:
        raise ParameterError(f"{name} must be a tuple of layer widths such as (500,) or (), got {value!r}")
    return tuple(whole(f"every width in {name}", width, 1) for width in widths)


def _learner(name: str, value: Any) -> Any:
    named = (AUTO, *LEARNERS)
    if value not in named if isinstance(value, str) else isinstance(value, type) or not hasattr(value, "fit"):
        known = ", ".join(map(repr, named))
        raise ParameterError(
            f"{name} must be {known} or a scikit-learn classifier (an object, not its class) with predict_proba or "
            f"decision_function; got {value!r}"
        )
    return value


def _auto_or(check: Check) -> Check:
    """A check that also takes "auto"."""

    def checked(name: str, value: Any) -> Any:
        if isinstance(value, str) and value == AUTO:
            return value
        try:
            return check(name, value)
        except ParameterError as error:
            raise ParameterError(f"{error}, or {AUTO!r}") from None

    return checked


def _bits(name: str, value: Any) -> int:
    if isinstance(value, bool) or value not in STORE_BITS:
        raise ParameterError(f"{name} must be one of {', '.join(map(str, STORE_BITS))}, got {value!r}")
    return int(value)


@dataclass(frozen=True, repr=False)
class OptionGroup:
    """Options that belong together; a dataclass whose fields carry an `Option` each."""

    def __post_init__(self) -> None:
        self._check()

    def __repr__(self) -> str:
        """The options that are not at their defaults."""
        defaults = type(self)()
        changed = [name for name in options(type(self)) if getattr(self, name) != getattr(defaults, name)]
        return f"{type(self).__name__}({', '.join(f'{name}={getattr(self, name)!r}' for name in changed)})"

    def _check(self) -> None:
        """Make every value a plain Python one (a grid search gives NumPy's, a plan is JSON), or say what is wrong."""
        for name, option in options(type(self)).items():
            object.__setattr__(self, name, option.check(option.parameter or name, getattr(self, name)))

    def to_dict(self) -> dict[str, Any]:
        """The options as JSON values for plan.json."""
        return {name: getattr(self, name) for name in options(type(self))}

    @classmethod
    def from_dict(cls: type[Settings], values: Mapping[str, Any]) -> Settings:
        """The inverse of `to_dict`."""
        return cls(**values)


@dataclass(frozen=True, repr=False)
class NetworkSettings(OptionGroup):
    """How a network is shaped and trained; `auto` is resolved here, and kept in the subclass `MachConfig`."""

    hidden: Any = _option(
        AUTO, "Widths of a network's hidden layers: auto is 500, none logistic regression.", _auto_or(layer_widths),
        str, "--hidden", None,
    )  # fmt: skip
    loss: Any = _choice(
        AUTO, "A network's loss; auto is softmax, for multilabel rows too.", (AUTO, *LOSSES), flag="--loss"
    )
    epochs: Any = _whole(AUTO, "A network's passes over the training rows; auto is 10.", 1, flag="--epochs")
    batch_size: int = _whole(
        256, "Rows per training step; smaller if there are few rows, so that an epoch has 100 steps.", 1,
        flag="--batch-size",
    )  # fmt: skip
    learning_rate: Any = _real(
        AUTO, "Adam's initial learning rate, which decays linearly to zero; auto is 0.002.", 0.0, math.inf,
        with_low=False, flag="--learning-rate",
    )  # fmt: skip
    weight_decay: float = _real(0.0, "Decoupled weight decay.", 0.0, math.inf, with_low=True, flag="--weight-decay")
    dropout: float = _real(
        0.0, "Fraction of hidden units dropped in each step.", 0.0, 1.0, with_low=True, flag="--dropout"
    )
    patience: int = _whole(2, "Epochs without a better validation loss before training stops.", 1)
    skip_below: float = _real(
        0.0, "Round output gradients below this value at random and skip the zeros: faster; try 0.01.", 0.0, 1.0,
        with_low=True, flag="--skip-below",
    )  # fmt: skip

    def __post_init__(self) -> None:
        self._check()
        for name, value in NETWORK_DEFAULTS.items():
            if getattr(self, name) == AUTO:
                object.__setattr__(self, name, value)

    def _check(self) -> None:
        super()._check()
        if self.skip_below and (self.loss == "bce" or not self.hidden):
            raise ParameterError("skip_below needs softmax and a hidden layer; leave it out, or change loss or hidden")

    def to_dict(self) -> dict[str, Any]:
        """The options as JSON values for plan.json. An unused `skip_below` is left out, as in older plans."""
        values = super().to_dict() | {"hidden": list(self.hidden)}
        if not self.skip_below:
            del values["skip_below"]
        return values


@dataclass(frozen=True, repr=False)
class LinearSettings(OptionGroup):
    """How the sparse linear classifiers of the buckets are trained; an `auto` loss is kept in `MachConfig` only."""

    linear_loss: str = _choice(
        AUTO, "Loss of linear buckets; auto: softmax if most labels have one or two rows; both (squared_hinge and "
        "logistic, in turns) for few features.",
        (AUTO, *LINEAR_LOSSES), flag="--linear-loss",
    )  # fmt: skip
    cost: Any = _option(
        AUTO, "C of linear buckets: the weight of a row's loss against the regularisation; auto: by validation.",
        _auto_or(lambda name, value: real(name, value, 0.0, math.inf, with_low=False)), str, "--cost", None,
    )  # fmt: skip
    passes: Any = _option(
        AUTO, "Passes over the rows for linear buckets; auto: by validation.",
        _auto_or(lambda name, value: whole(name, value, 1)), str, "--passes", None,
    )  # fmt: skip
    prune_below: float = _real(
        0.1, "Weights of linear buckets below this are dropped: a smaller model.", 0.0, math.inf, with_low=True,
        flag="--prune-below",
    )  # fmt: skip
    store_bits: Any = _option(
        AUTO, "Bits of a stored weight of linear buckets: 8 or 32; auto is 8.", _auto_or(_bits), str, "--store-bits",
        None,
    )  # fmt: skip

    def __post_init__(self) -> None:
        self._check()
        if self.linear_loss == AUTO:
            object.__setattr__(self, "linear_loss", SQUARED_HINGE)

    def _check(self) -> None:
        super()._check()
        if self.linear_loss == SOFTMAX and self.cost != AUTO:
            raise ParameterError("linear_loss='softmax' has no cost; leave cost out, or choose another loss")

    def of_repetition(self, repetition: int) -> LinearSettings:
        """The settings of a repetition: with both losses, two of four have the logistic one.

        Two in a row, because `mixed` buckets take turns, too.
        """
        if self.linear_loss != BOTH:
            return self
        if repetition % 4 < 2:
            return replace(self, linear_loss=SQUARED_HINGE)
        return replace(self, linear_loss=LOGISTIC, cost=LOGISTIC_COST * self.cost)


_OF_EVERY_LEARNER = ("store_bits",)


@dataclass(frozen=True, kw_only=True, repr=False)
class MachConfig(NetworkSettings, LinearSettings):
    """What to train: everything that decides which model comes out of given rows."""

    n_buckets: Any = _whole(
        AUTO, "B, the buckets that labels are hashed into; more buckets, fewer collisions, larger models.", 2,
        2**31 - 1, flag="--buckets",
    )  # fmt: skip
    n_repetitions: Any = _whole(
        AUTO, "R, the independent hashes and classifiers; accuracy rises with it.", 1, MOST_REPETITIONS,
        flag="--repetitions",
    )  # fmt: skip
    bucketing: str = _choice(
        AUTO, "random: by hashes; clustered: similar labels share a bucket; mixed: alternately, for top 100.",
        (AUTO, *BUCKETINGS), flag="--bucketing",
    )  # fmt: skip
    scaling: str = _choice(
        AUTO, "auto: sublinear tf-idf for sparse rows without negative values.", (AUTO, *SCALINGS), flag="--scaling"
    )
    estimator: str = _choice(
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
    ranker: str = _choice(
        AUTO, "Second look at the best labels: none, by profiles of the labels, or also by a linear classifier of each "
        "label; auto: linear with linear buckets and estimator=auto, none otherwise.",
        (AUTO, *RANKERS), flag="--ranker",
    )  # fmt: skip
    ranker_bytes: Any = _option(
        None, "The most bytes of all ranker files; the smallest weights of profiles and classifiers are dropped.",
        lambda name, value: None if value is None else whole(name, value, 1), str, "--ranker-bytes", None,
    )  # fmt: skip
    seed: int = _whole(0, "Same seed, same bytes.", 0, 2**63 - 1, flag="--seed", parameter="random_state")

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
        return NetworkSettings(**{name: getattr(self, name) for name in options(NetworkSettings)})

    @property
    def linear(self) -> LinearSettings:
        """The part of linear buckets; its cost and passes may still be `auto`."""
        return LinearSettings(**{name: getattr(self, name) for name in options(LinearSettings)})


def options(settings: type[OptionGroup] = MachConfig) -> Mapping[str, Option]:
    """The options by name: those of the class itself, then those that it inherits."""
    own = sorted(fields(settings), key=lambda each: each.name not in settings.__annotations__)
    return MappingProxyType({each.name: each.metadata["option"] for each in own})


DEFAULTS = MachConfig()
