"""Labels to buckets: the 2-universal hashes, the signatures they give, and the index that a decoder searches."""

from xmach._kernels.index import Index
from xmach.buckets.inverted import (
    Tables,
    bucket_members,
    computed,
    fill_tables,
    new_tables,
    stored,
    table_index,
    table_shapes,
)
from xmach.buckets.signatures import as_signatures, count_indistinguishable_pairs, indistinguishable_groups
from xmach.buckets.universal import UniversalHashes

__all__ = [
    "Index",
    "Tables",
    "UniversalHashes",
    "as_signatures",
    "bucket_members",
    "computed",
    "count_indistinguishable_pairs",
    "fill_tables",
    "indistinguishable_groups",
    "new_tables",
    "stored",
    "table_index",
    "table_shapes",
]
