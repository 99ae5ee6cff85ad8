"""Ranks the shortlist again: label profiles, a linear ranker, and their fusion with MACH's score."""

from xmach.ranking.fusion import Fusion
from xmach.ranking.label_rows import LabelRows, rows_of_labels, rows_of_parts
from xmach.ranking.label_weights import LabelWeights
from xmach.ranking.profiles import Profiles, profile_part
from xmach.ranking.ranking import Ranking, ShortlistSizes, log_frequencies
from xmach.ranking.shortlist import Shortlist

__all__ = [
    "Fusion",
    "LabelRows",
    "LabelWeights",
    "Profiles",
    "Ranking",
    "Shortlist",
    "ShortlistSizes",
    "log_frequencies",
    "profile_part",
    "rows_of_labels",
    "rows_of_parts",
]
