"""Reading the sketch: bucket probabilities, the top k by hand, the unbiased estimate, rivals in the same buckets."""

import numpy as np
from sklearn.datasets import make_blobs

from xmach import MACHClassifier

X, y = make_blobs(n_samples=2000, n_features=20, centers=100, cluster_std=4.0, random_state=0)
names = np.array([f"class-{i:02}" for i in y])
clf = MACHClassifier(n_buckets=16, n_repetitions=8, hidden=(64,)).fit(X[1:] / 10, names[1:])
row = X[:1] / 10

sketch = clf.bucket_probabilities(row)  # (n, R, B)
hashes = clf.predictor_.hashes
signatures = hashes.signatures()  # (K, R): the bucket of each class in each repetition
print(f"sketch {sketch.shape} of {len(clf.classes_)} classes; each repetition sums to {sketch.sum(axis=2).mean():.3f}")

# By hand: a class's R cells, and the mean of their logarithms, which is the default estimator.
cells = sketch[0, np.arange(8), signatures]  # (K, R)
by_hand = np.argsort(-np.log(np.maximum(cells, 1e-30)).mean(axis=1), kind="stable")[:5]
best = clf.top_k(row, k=5)
assert by_hand.tolist() == best.ids[0].tolist()
print("a row of", names[0], "- top 5:", ", ".join(best.labels[0]))

# Theorem 1: the mean of the cells, less what collisions add on average.
c = hashes.collision_probability
unbiased = (cells.mean(axis=1) - c) / (1 - c)
top = clf.top_k(row, k=5, estimator="mean", probabilities=True)
assert np.allclose(unbiased[top.ids[0]], top.scores[0], atol=1e-6)
for name, probability in zip(top.labels[0], top.scores[0], strict=True):
    print(f"{name}: estimated probability {probability:.3f}")

# Rivals share buckets with the best class, and so get some of its probability there.
shared = (signatures == signatures[by_hand[0]]).sum(axis=1)
for rival in np.argsort(-shared, kind="stable")[1:4]:
    print(f"{clf.classes_[rival]} shares {shared[rival]} of {hashes.n_repetitions} buckets with {best.labels[0, 0]}")
