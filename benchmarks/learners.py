"""The network beside wrapped scikit-learn classifiers as base learners: bibtex, B = 100, R = 16, one run each.

C, alpha and min_samples_leaf are the best of three or four values by P@1 on a fifth of the training rows (R = 2); the
network has its defaults. Seconds are those of the processor, in one thread: other work on the machine does not count.
"""

from __future__ import annotations

import time
from typing import Any

import scipy.sparse as sp
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import MultinomialNB

from benchmarks.places import data_folder, table, write_results
from xmach import MACHClassifier, read_dataset
from xmach.decoding import ESTIMATORS
from xmach.evaluation import evaluate
from xmach.types import SparseRows

LEARNERS: dict[str, Any] = {
    "network (default)": "network",
    "logistic regression, C = 10": LogisticRegression(C=10.0, max_iter=300),
    "random forest, 50 trees, min_samples_leaf = 3": RandomForestClassifier(50, min_samples_leaf=3),
    "multinomial naive Bayes, alpha = 0.01": MultinomialNB(alpha=0.01),
}
KS = (1, 3, 5)


def main() -> None:
    """Fit one model a learner and read each with every estimator."""
    folder = data_folder() / "bibtex"
    data, test = read_dataset(folder / "train.txt.gz"), read_dataset(folder / "test.txt.gz")
    X, Y = _matrix(data.features), _matrix(data.labels)  # type: ignore[arg-type]  # an XMC file is sparse
    rows = []
    for name, learner in LEARNERS.items():
        begun = time.process_time()
        clf = MACHClassifier(n_buckets=100, n_repetitions=16, learner=learner).fit(X, Y)
        seconds = time.process_time() - begun
        for estimator, result in zip(ESTIMATORS, evaluate(clf.predictor_, test, KS, ESTIMATORS), strict=True):
            figures = {f"precision@{k}": result.metrics[f"precision@{k}"] for k in KS}
            rows.append({"learner": name, "estimator": estimator, "seconds": seconds, **figures})
    write_results("learners", rows, _table(rows))


def _matrix(rows: SparseRows) -> Any:
    return sp.csr_matrix((rows.values, rows.indices, rows.indptr), shape=rows.shape)


def _table(rows: list[dict[str, Any]]) -> str:
    lines = []
    for name in LEARNERS:
        own = [row for row in rows if row["learner"] == name]
        figures = [" / ".join(f"{100 * row[f'precision@{k}']:.1f}" for k in KS) for row in own]
        lines.append([name, *figures, f"{own[0]['seconds']:.1f}"])
    return table(["learner", *ESTIMATORS, "fit, CPU seconds"], lines)
