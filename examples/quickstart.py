"""Quickstart: MACH as a scikit-learn classifier, in a pipeline, with cross-validation."""

from sklearn.datasets import make_blobs
from sklearn.model_selection import cross_val_score, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from xmach import MACHClassifier

# 300 classes of 15 rows each. No model here has 300 outputs: there are 8 models of 40 buckets.
X, y = make_blobs(n_samples=4500, n_features=30, centers=300, cluster_std=3.0, random_state=0)
X_train, X_test, y_train, y_test = train_test_split(X, y, stratify=y, random_state=0)

clf = MACHClassifier(n_buckets=40, n_repetitions=8, hidden=(64,), random_state=0)
model = make_pipeline(StandardScaler(), clf).fit(X_train, y_train)
print(f"accuracy among {len(clf.classes_)} classes: {model.score(X_test, y_test):.2f}")

best = clf.top_k(model[0].transform(X_test[:3]), k=3)
for labels, truth in zip(best.labels, y_test[:3], strict=True):
    print(f"a row of class {truth}: the three best are {labels.tolist()}")

print("cross-validated:", cross_val_score(model, X_train, y_train, cv=2).round(2).tolist())
