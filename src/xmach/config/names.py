"""The words that options can be set to."""

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
PRECISION, PROPENSITY = RANKER_GOALS = ("precision", "propensity")  # what its weights are chosen for
NONE, PROFILE, LINEAR_RANKER = RANKERS = ("none", "profile", "linear")  # what ranks MACH's shortlist again
SCALINGS = ("none", "tfidf", "l2")
EXECUTORS = (AUTO, "local", "pool")
