"""Made tests/golden/format-7, once: `python -m tests.store.make_golden_ranked FOLDER`.

Never rewrite a golden model.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from xmach import MACHClassifier, load
from xmach.features import HashedText
from xmach.ranking import weighing

COLOURS, THINGS = ("red", "blue", "green", "black"), ("table", "chair", "lamp", "drill", "pan")
WORDS = ("cheap", "large", "new", "sale", "best", "old", "small", "good", "fine", "plain", "nice", "used")
TEXTS = {word: f"all {word} things" for word in (*COLOURS, *THINGS)} | {"unseen": "a thing nobody bought"}
ASKED = ["a red lamp", "blue chairs", "drill", "", "unheard of", "a thing nobody bought"]


def make(folder: Path) -> None:
    """Texts with two labels each and texts of labels, in buckets of both kinds; no part is left out."""
    weighing._LEAST_GAIN = -1.0
    texts = [f"{colour} {thing} {word}" for colour in COLOURS for thing in THINGS for word in WORDS]
    labels = [sorted(text.split()[:2]) for text in texts]
    model = MACHClassifier(
        n_buckets=5, n_repetitions=3, learner="linear", linear_loss="squared_hinge", cost=1.0, passes=5,
        bucketing="mixed", ranker="linear", features=HashedText(n_features=256),
    )  # fmt: skip
    model.fit(texts, labels, label_text=TEXTS).save(folder / "model")
    best = load(folder / "model").top_k(ASKED, 3)
    answers = {"texts": ASKED, "labels": best.labels.tolist(), "scores": best.scores.tolist()}
    (folder / "answers.json").write_text(json.dumps(answers, indent=1) + "\n")


if __name__ == "__main__":
    make(Path(sys.argv[1]))
