"""How good a ranking is: hits among the first k places, weighted or not, over batches of rows."""

from xmach.metrics.at_k import accuracy, ndcg_at_k, precision_at_k, precision_at_min_k, recall_at_k
from xmach.metrics.labels import TrueLabels
from xmach.metrics.sums import RankingMetrics

__all__ = [
    "RankingMetrics",
    "TrueLabels",
    "accuracy",
    "ndcg_at_k",
    "precision_at_k",
    "precision_at_min_k",
    "recall_at_k",
]
