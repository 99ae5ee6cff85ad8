"""The options of `xmach train` that say what is trained: given ones, then the preset's, then the defaults."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from xmach.cli.arguments import layers
from xmach.cli.choices import Bucketing, EstimatorName, Loss, PresetName, Scaling
from xmach.cli.progress import say
from xmach.parameters import MOST_REPETITIONS, whole

if TYPE_CHECKING:
    from xmach.data import Dataset
    from xmach.learners import NetworkSettings
    from xmach.planning.presets import Preset

# Every default is None here: what was not given may come from a preset.
PresetOption = Annotated[
    PresetName | None, typer.Option("--preset", help="Train as the paper did; options given beside it win.")
]
BucketsOption = Annotated[
    int | None, typer.Option("--buckets", help="B: buckets that labels are hashed into.", show_default="2000")
]
RepetitionsOption = Annotated[
    int | None, typer.Option("--repetitions", help="R: hashes, and classifiers.", show_default="16")
]
BucketingOption = Annotated[
    Bucketing,
    typer.Option(
        "--bucketing",
        help="random: by hashes; clustered: labels with like rows share a bucket; mixed: by turns, best for top 100.",
    ),
]
HiddenOption = Annotated[
    str | None,
    typer.Option("--hidden", help="Hidden layers, such as 500,500; none: logistic regression.", show_default="500"),
]
LossOption = Annotated[Loss | None, typer.Option("--loss", help="auto is softmax.", show_default="auto")]
EpochsOption = Annotated[int | None, typer.Option("--epochs", help="Passes over the rows.", show_default="10")]
BatchOption = Annotated[
    int | None, typer.Option("--batch-size", help="Rows a step; fewer where rows are few.", show_default="256")
]
RateOption = Annotated[
    float | None,
    typer.Option("--learning-rate", help="Adam's rate at the start; it decays to zero.", show_default="0.002"),
]
DecayOption = Annotated[float, typer.Option("--weight-decay", help="Decoupled weight decay.")]
DropoutOption = Annotated[float, typer.Option("--dropout", help="Share of hidden units dropped in training.")]
SkipOption = Annotated[
    float,
    typer.Option(
        "--skip-below", help="Output gradients under it are rounded, most to zero, and skipped; 0.01 is fair."
    ),
]
ScalingOption = Annotated[
    Scaling | None,
    typer.Option("--scaling", help="auto: tf-idf for rows without negative values.", show_default="auto"),
]
EstimatorOption = Annotated[
    EstimatorName | None,
    typer.Option("--estimator", help="auto: the best on validation rows, log without them.", show_default="auto"),
]


@dataclass(frozen=True)
class Recipe:
    """What is to be trained."""

    buckets: int
    repetitions: int
    settings: NetworkSettings
    scaling: str
    estimator: str
    preset: Preset | None
    bucketing: str

    def say_preset(self, data: Dataset) -> None:
        """Say what the paper got with a preset, and where these rows are not those that it was made for."""
        if self.preset is None:
            return
        expected = {"features": self.preset.n_features, "labels": self.preset.n_labels, "rows": self.preset.train_rows}
        found = {"features": data.n_features, "labels": data.n_labels, "rows": data.n_rows}
        other = [
            f"{found[name]:,} {name}, not {expected[name]:,}" for name in expected if found[name] != expected[name]
        ]
        ours = f"; not from the paper: {self.preset.ours}" if self.preset.ours else ""
        say(f"preset {self.preset.name}: the paper got {self.preset.reached}{ours}")
        if other:
            say(f"preset {self.preset.name}: this file has {'; '.join(other)}")


def recipe(
    preset: PresetName | None,
    buckets: int | None,
    repetitions: int | None,
    hidden: str | None,
    loss: Loss | None,
    epochs: int | None,
    batch_size: int | None,
    learning_rate: float | None,
    weight_decay: float,
    dropout: float,
    skip_below: float,
    scaling: Scaling | None,
    estimator: EstimatorName | None,
    bucketing: Bucketing,
) -> Recipe:
    """What was given, completed from the preset and the defaults, checked."""
    from xmach.learners import NetworkSettings
    from xmach.planning.presets import preset_named

    chosen = None if preset is None else preset_named(preset.value)
    B = whole("--buckets", _first(buckets, chosen and chosen.n_buckets, 2000), 2, 2**31 - 1)
    R = _first(repetitions, chosen and chosen.n_repetitions(B), 16)
    wanted = _first(loss and loss.value, chosen and chosen.loss, "auto")
    settings = NetworkSettings(
        hidden=_first(None if hidden is None else layers(hidden), None if chosen is None else chosen.hidden, (500,)),
        loss="bce" if wanted == "bce" else "softmax",
        epochs=_first(epochs, chosen and chosen.epochs, 10),
        batch_size=_first(batch_size, chosen and chosen.batch_size, 256),
        learning_rate=_first(learning_rate, chosen and chosen.learning_rate, 2e-3),
        weight_decay=weight_decay,
        dropout=dropout,
        skip_below=skip_below,
    )
    return Recipe(
        buckets=B,
        repetitions=whole("--repetitions", R, 1, MOST_REPETITIONS),
        settings=settings,
        scaling=_first(scaling and scaling.value, chosen and chosen.scaling, "auto"),
        estimator=_first(estimator and estimator.value, chosen and chosen.estimator, "auto"),
        preset=chosen,
        bucketing=bucketing.value,
    )


def _first(*values: Any) -> Any:
    """The first that is given."""
    return next(value for value in values if value is not None)
