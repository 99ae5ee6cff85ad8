"""Labels to buckets: the 2-universal hashes, the signatures they give, and the inverted index."""

from xmach.buckets.inverted import InvertedIndex, invert
from xmach.buckets.signatures import as_signatures, count_indistinguishable_pairs, indistinguishable_groups
from xmach.buckets.universal import UniversalHashes

__all__ = [
    "InvertedIndex",
    "UniversalHashes",
    "as_signatures",
    "count_indistinguishable_pairs",
    "indistinguishable_groups",
    "invert",
]
