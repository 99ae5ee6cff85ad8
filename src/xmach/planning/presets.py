"""The paper's experiments: its data sets, and the settings it trained them with."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType

from xmach.errors import ParameterError


@dataclass(frozen=True)
class Preset:
    """One data set of the paper and how it was trained there; what the paper leaves open is ours, and named so."""

    name: str
    n_features: int
    n_labels: int
    train_rows: int
    repetitions: MappingProxyType[int, int]  # R for each B that the paper reports, its main result first
    hidden: tuple[int, ...]
    loss: str
    epochs: int
    batch_size: int
    reached: str  # what the paper's main result was
    ours: str = ""  # what the paper does not say
    learning_rate: float = 1e-3
    scaling: str = "none"  # raw features, as in the reference code
    estimator: str = "mean"

    @property
    def n_buckets(self) -> int:
        """B of the paper's main result."""
        return next(iter(self.repetitions))

    def n_repetitions(self, n_buckets: int) -> int:
        """R for a B; that of the main result for a B that the paper does not have."""
        return self.repetitions.get(n_buckets, self.repetitions[self.n_buckets])


def _pairs(*pairs: tuple[int, int]) -> MappingProxyType[int, int]:
    return MappingProxyType(dict(pairs))


_OPEN = "epochs and batch size"

PRESETS: MappingProxyType[str, Preset] = MappingProxyType(
    {
        preset.name: preset
        for preset in (
            Preset(
                "odp", 422_713, 105_033, 1_084_404, _pairs((32, 25), (4, 50)), (), "softmax", 10, 512,
                "accuracy 15.446 % (B = 32, R = 25)", _OPEN,
            ),
            Preset(
                "imagenet", 6_144, 21_841, 12_777_062, _pairs((512, 20)), (), "softmax", 5, 512,
                "accuracy 10.675 %", _OPEN,
            ),
            Preset(
                "wiki10-31k", 101_938, 30_938, 14_146, _pairs((2000, 32), (1000, 32)), (500, 500), "bce",
                60, 100, "P@1 85.44 % (B = 1000: 84.74 %)",
            ),
            Preset(
                "delicious-200k", 782_585, 205_443, 196_606, _pairs((5000, 32), (1000, 32)), (500, 500),
                "bce", 20, 1000, "P@1 43.66 %",
            ),
            Preset(
                "amazon-670k", 135_909, 670_091, 490_449, _pairs((10_000, 32), (5000, 32)), (500, 500),
                "bce", 40, 1000, "P@1 41.41 % (B = 5000: 40.64 %)",
            ),
            Preset(
                "amazon-search", 80_000, 49_462_358, 70_301_491,
                _pairs((20_000, 32), (10_000, 32)), (2000,), "bce", 10, 1000,
                "weighted recall@100 65.41 % (B = 10,000: 64.19 %)",
                "batch size; one hidden layer of 2,000, which gives the paper's number of parameters",
            ),
        )
    }
)  # fmt: skip


def preset_named(name: str) -> Preset:
    """The preset of that name."""
    if name not in PRESETS:
        raise ParameterError(f"preset must be one of {', '.join(PRESETS)}; got {name!r}")
    return PRESETS[name]
