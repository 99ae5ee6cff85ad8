"""Ranking metrics over batches of rows, weighted or not: the usual definitions and those of the paper's appendix.

`RankingMetrics` computes any of them in one pass; each function computes one. Names that contain `_paper` follow the
paper's definitions. docs/metrics.md has every formula.
"""

from xmach.metrics.at_k import (
    accuracy,
    coverage_at_k,
    map_at_k,
    map_paper_at_k,
    mrr_at_k,
    mrr_paper_at_k,
    ndcg_at_k,
    ndcg_paper_at_k,
    precision_at_k,
    precision_at_min_k,
    precision_most_rel_at_k,
    psndcg_at_k,
    psp_at_k,
    recall_at_k,
)
from xmach.metrics.coverage import Coverage
from xmach.metrics.frequency import GROUPS, RecallByFrequency, frequency_groups
from xmach.metrics.labels import TrueLabels
from xmach.metrics.propensity import PropensityScored, propensities
from xmach.metrics.sums import RankingMetrics
from xmach.metrics.tables import PaperTable, representative, side_by_side

__all__ = [
    "GROUPS",
    "Coverage",
    "PaperTable",
    "PropensityScored",
    "RankingMetrics",
    "RecallByFrequency",
    "TrueLabels",
    "accuracy",
    "coverage_at_k",
    "frequency_groups",
    "map_at_k",
    "map_paper_at_k",
    "mrr_at_k",
    "mrr_paper_at_k",
    "ndcg_at_k",
    "ndcg_paper_at_k",
    "precision_at_k",
    "precision_at_min_k",
    "precision_most_rel_at_k",
    "propensities",
    "psndcg_at_k",
    "psp_at_k",
    "recall_at_k",
    "representative",
    "side_by_side",
]
