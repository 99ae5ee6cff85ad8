"""The texts of a job's labels as a part of its second stage."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from xmach.block_sizes import TERM_ROWS
from xmach.data.arrays import as_sparse_rows
from xmach.learners import stream
from xmach.models.bucket_weights import BucketWeights
from xmach.ranking import Profiles
from xmach.ranking.label_texts import term_weights, text_part, text_profiles
from xmach.training.job import Job
from xmach.training.shards import Material


def trained_texts(job: Job, material: Material) -> Profiles | None:
    """The texts as profiles, weighed by what training rows teach; None if there are no texts."""
    part = _part(job)
    if part is None:
        return None
    order = stream(job.plan.seed, 0, "term weights").permutation(job.data.n_rows)[:TERM_ROWS]
    rows = material.sparse_rows().take(order)
    rows = replace(rows, values=rows.values * np.float32(material.scale))
    return text_profiles(part, job.plan.n_features, term_weights(part, rows, job.data.labels.take(order)))


def text_bytes(job: Job) -> int:
    """The bytes of their arrays, which do not depend on the weights; 0 if there are no texts."""
    part = _part(job)
    return 0 if part is None else text_profiles(part, job.plan.n_features).n_bytes


def _part(job: Job) -> BucketWeights | None:
    texts = job.label_text
    if texts is None or not len(texts.ids):
        return None
    return text_part(texts.ids, as_sparse_rows(job.scaler.apply(texts.rows)), job.data.n_labels)
