"""A second look at the shortlist: label profiles, a linear ranker, and their fusion with MACH's score."""

from xmach.ranking.label_rows import LabelRows, rows_of_labels
from xmach.ranking.profiles import Profiles, profile_part

__all__ = ["LabelRows", "Profiles", "profile_part", "rows_of_labels"]
