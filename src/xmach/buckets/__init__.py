"""Labels to buckets: 2-universal hashes, tables of clusters, their signatures, the index that a decoder searches."""

from xmach._kernels.decode.index import Index
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
from xmach.buckets.kinds import check_bucketing, clustered_repetitions
from xmach.buckets.learned import WIDTH, Buckets, LearnedBuckets, clustered, digest_of, signs
from xmach.buckets.signatures import as_signatures, count_indistinguishable_pairs, indistinguishable_groups
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
