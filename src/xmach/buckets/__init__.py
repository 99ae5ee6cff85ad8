"""Labels to buckets: 2-universal hashes, tables of clusters, signatures, and the index that a decoder searches."""

from xmach._kernels.decode.index import Index
from xmach.buckets.inverted import (
    Tables,
    as_signatures,
    bucket_members,
    computed,
    count_indistinguishable_pairs,
    fill_tables,
    indistinguishable_groups,
    new_tables,
    stored,
    table_index,
    table_shapes,
)
from xmach.buckets.learned import (
    WIDTH,
    Buckets,
    LearnedBuckets,
    check_bucketing,
    clustered,
    clustered_repetitions,
    digest_of,
    signs,
)
from xmach.buckets.universal import UniversalHashes
from xmach.config import BUCKETINGS, RANDOM

__all__ = [
    "BUCKETINGS",
    "RANDOM",
    "WIDTH",
    "Buckets",
    "Index",
    "LearnedBuckets",
    "Tables",
    "UniversalHashes",
    "as_signatures",
    "bucket_members",
    "check_bucketing",
    "clustered",
    "clustered_repetitions",
    "computed",
    "count_indistinguishable_pairs",
    "digest_of",
    "fill_tables",
    "indistinguishable_groups",
    "new_tables",
    "signs",
    "stored",
    "table_index",
    "table_shapes",
]
