"""Every training option once: name, default, range or choices, and one line of help.

The options of the command line, the parameters and docstring of `MACHClassifier`, the presets and plan.json all derive
from the fields below.
"""

from xmach.config.group import OptionGroup
from xmach.config.linear import LinearSettings
from xmach.config.mach_config import DEFAULTS, MachConfig, options
from xmach.config.names import (
    AUTO,
    BOTH,
    BUCKETINGS,
    ESTIMATORS,
    EXECUTORS,
    LEARNERS,
    LINEAR,
    LINEAR_LOSSES,
    LINEAR_RANKER,
    LOGISTIC,
    LOGISTIC_COST,
    LOSSES,
    MIXED,
    NETWORK,
    NONE,
    PRECISION,
    PROFILE,
    PROPENSITY,
    RANDOM,
    RANKER_GOALS,
    RANKERS,
    SCALINGS,
    SOFTMAX,
    SQUARED_HINGE,
    STORE_BITS,
)
from xmach.config.network import NETWORK_DEFAULTS, NetworkSettings, layer_widths
from xmach.config.option import Option

__all__ = [
    "AUTO",
    "BOTH",
    "BUCKETINGS",
    "DEFAULTS",
    "ESTIMATORS",
    "EXECUTORS",
    "LEARNERS",
    "LINEAR",
    "LINEAR_LOSSES",
    "LINEAR_RANKER",
    "LOGISTIC",
    "LOGISTIC_COST",
    "LOSSES",
    "MIXED",
    "NETWORK",
    "NETWORK_DEFAULTS",
    "NONE",
    "PRECISION",
    "PROFILE",
    "PROPENSITY",
    "RANDOM",
    "RANKERS",
    "RANKER_GOALS",
    "SCALINGS",
    "SOFTMAX",
    "SQUARED_HINGE",
    "STORE_BITS",
    "LinearSettings",
    "MachConfig",
    "NetworkSettings",
    "Option",
    "OptionGroup",
    "layer_widths",
    "options",
]
