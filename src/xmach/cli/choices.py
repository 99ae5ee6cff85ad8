"""The words that options take."""

from __future__ import annotations

from enum import StrEnum


class Format(StrEnum):
    """The formats of data files."""

    auto = "auto"
    xmc = "xmc"
    svmlight = "svmlight"
    vw = "vw"
    split_ = "split"  # str has a method of that name
    npz = "npz"
    csv = "csv"
    tsv = "tsv"
    jsonl = "jsonl"
    parquet = "parquet"


class ShopFormat(StrEnum):
    """The formats of a made-up shop's queries."""

    jsonl = "jsonl"
    csv = "csv"
    tsv = "tsv"
    parquet = "parquet"
    xmc = "xmc"
    sparse = "sparse"


class OnError(StrEnum):
    """What to do about a bad row."""

    stop = "stop"
    skip = "skip"


class Loss(StrEnum):
    """Training losses."""

    auto = "auto"
    softmax = "softmax"
    bce = "bce"


class ExecutorName(StrEnum):
    """Where repetitions run."""

    auto = "auto"
    local = "local"
    pool = "pool"


class Scaling(StrEnum):
    """What is done to rows first."""

    auto = "auto"
    none = "none"
    tfidf = "tfidf"
    l2 = "l2"


class Values(StrEnum):
    """What the values of a text's row are."""

    binary = "binary"
    counts = "counts"
    tfidf = "tfidf"


class EstimatorName(StrEnum):
    """How a label's score is read from its buckets; auto: the model's own, or the best on validation rows."""

    auto = "auto"
    mean = "mean"
    min = "min"
    median = "median"
    log = "log"


class Bucketing(StrEnum):
    """Which bucket a label goes to."""

    random = "random"
    mixed = "mixed"
    clustered = "clustered"


class PresetName(StrEnum):
    """The paper's experiments."""

    odp = "odp"
    imagenet = "imagenet"
    wiki10_31k = "wiki10-31k"
    delicious_200k = "delicious-200k"
    amazon_670k = "amazon-670k"
    amazon_search = "amazon-search"
