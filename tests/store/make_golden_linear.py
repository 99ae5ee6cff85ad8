"""Made tests/golden/format-5 and 6, once each: `python -m tests.store.make_golden_linear FOLDER [LOSS]`.

Never rewrite a golden model.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from xmach import MACHClassifier, load
from xmach.config import AUTO, SOFTMAX, SQUARED_HINGE
from xmach.features import HashedText

COLOURS, THINGS = ("red", "blue", "green"), ("table", "chair", "lamp", "drill")
ASKED = ["a red lamp", "blue chairs", "drill", "", "unheard of"]


def make(folder: Path, loss: str = SQUARED_HINGE) -> None:
    """Texts with two labels each, in buckets of both kinds, so that every kind of file is there."""
    texts = [f"{colour} {thing} {word}" for colour in COLOURS for thing in THINGS for word in ("cheap", "large", "new")]
    labels = [sorted(text.split()[:2]) for text in texts]
    model = MACHClassifier(
        n_buckets=4, n_repetitions=3, learner="linear", linear_loss=loss, cost=AUTO if loss == SOFTMAX else 1.0,
        passes=5, bucketing="mixed", features=HashedText(n_features=256),
    )  # fmt: skip
    model.fit(texts, labels).save(folder / "model")
    best = load(folder / "model").top_k(ASKED, 3)
    answers = {"texts": ASKED, "labels": best.labels.tolist(), "scores": best.scores.tolist()}
    (folder / "answers.json").write_text(json.dumps(answers, indent=1) + "\n")


if __name__ == "__main__":
    make(Path(sys.argv[1]), *sys.argv[2:])
