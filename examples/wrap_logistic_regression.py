"""Any scikit-learn classifier can be the base learner: here logistic regression and a forest, beside the network."""

from sklearn.datasets import make_blobs
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from xmach import MACHClassifier

X, y = make_blobs(2000, n_features=100, centers=100, cluster_std=8.0, random_state=0)
X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0, stratify=y)

learners = {
    "network": "network",
    "logistic regression": make_pipeline(StandardScaler(), LogisticRegression()),
    "random forest": RandomForestClassifier(30),
}
for name, learner in learners.items():
    # 8 classifiers of 20 buckets instead of one of 100 classes; the learner is cloned for each
    clf = MACHClassifier(n_buckets=20, n_repetitions=8, learner=learner).fit(X_train, y_train)
    print(f"{name:20} accuracy {clf.score(X_test, y_test):.3f}")
