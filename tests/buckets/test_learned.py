"""Buckets that are tables: they answer as hashes do, and put labels that are alike together."""

from __future__ import annotations

import hashlib

import numpy as np
import pytest

from xmach.buckets import (
    WIDTH,
    LearnedBuckets,
    UniversalHashes,
    as_signatures,
    bucket_members,
    clustered,
    fill_tables,
    new_tables,
    signs,
    stored,
)
from xmach.errors import InputError
from xmach.types import AnyArray

K, B, R = 500, 30, 4
HASHES = UniversalHashes.draw(K, B, R, seed=3)


def table_of(seed: int) -> AnyArray:
    return np.random.default_rng(seed).integers(0, B, K).astype(np.uint16)


@pytest.fixture
def learned() -> LearnedBuckets:
    return LearnedBuckets(HASHES, {1: table_of(1), 3: table_of(3)})


def test_it_answers_as_hashes_do(learned: LearnedBuckets) -> None:
    assert (learned.n_labels, learned.n_buckets, learned.n_repetitions) == (K, B, R)
    ids = np.array([0, 499, 7])
    for r in range(R):
        expected = HASHES.buckets(ids, r) if r in (0, 2) else table_of(r)[ids]
        assert learned.buckets(ids, r).tolist() == expected.tolist()
        np.testing.assert_array_equal(learned.signatures()[:, r], learned.buckets(np.arange(K), r))
    np.testing.assert_array_equal(as_signatures(learned), learned.signatures())


def test_rules_are_what_the_kernel_of_targets_takes(learned: LearnedBuckets) -> None:
    assert len(learned.rule(0)[0]) == len(HASHES.rule(0)[0]) == 0
    assert learned.rule(0)[1:] == HASHES.rule(0)[1:]
    np.testing.assert_array_equal(learned.rule(1)[0], table_of(1))


def test_some_repetitions(learned: LearnedBuckets) -> None:
    few = learned.subset([3, 0])
    np.testing.assert_array_equal(few.signatures(), learned.signatures()[:, [3, 0]])
    assert list(learned.only(3).tables) == [3]
    assert learned.only(2).n_repetitions == R


@pytest.mark.parametrize("repetition", [0, 1])
def test_ids_that_are_no_labels_are_refused(learned: LearnedBuckets, repetition: int) -> None:
    for ids in ([-1], [10**6], [0.5]):
        with pytest.raises(InputError, match="label ids must be whole numbers"):
            learned.buckets(np.array(ids), repetition)


def test_members_of_a_bucket(learned: LearnedBuckets) -> None:
    for r in range(R):
        for bucket in (0, 17):
            expected = np.flatnonzero(learned.signatures()[:, r] == bucket)
            assert bucket_members(learned, r, bucket).tolist() == expected.tolist()


@pytest.mark.parametrize("threads", [1, 3])
def test_an_index_of_tables(learned: LearnedBuckets, threads: int) -> None:
    tables = new_tables(learned)
    fill_tables(learned, tables, threads)
    np.testing.assert_array_equal(tables.signatures, learned.signatures())
    for r in range(R):
        assert tables.members(r, 5).tolist() == bucket_members(learned, r, 5).tolist()
    assert stored(learned, tables).prime == 0  # no arithmetic knows these buckets


def test_plain_values_tell_tables_apart(learned: LearnedBuckets) -> None:
    assert set(learned.to_dict()["tables"]) == {"1", "3"}
    assert learned.to_dict() == LearnedBuckets(HASHES, {1: table_of(1), 3: table_of(3)}).to_dict()
    assert learned.to_dict() != LearnedBuckets(HASHES, {1: table_of(1), 3: table_of(4)}).to_dict()
    assert learned.to_dict() != HASHES.to_dict()


def test_tables_of_other_shapes_are_refused() -> None:
    with pytest.raises(InputError, match=r"table of repetition 1 must have shape \(500,\)"):
        LearnedBuckets(HASHES, {1: table_of(1)[:-1]})
    with pytest.raises(InputError, match="repetition 4"):
        LearnedBuckets(HASHES, {4: table_of(1)})


def test_labels_that_are_alike_share_buckets_and_others_take_the_hash() -> None:
    draw = np.random.default_rng(0)
    group = draw.integers(0, 10, K)
    points = (draw.standard_normal((10, WIDTH))[group] + 0.1 * draw.standard_normal((K, WIDTH))).astype(np.float32)
    points *= draw.uniform(0.1, 9, (K, 1)).astype(np.float32)  # lengths do not matter
    without = draw.choice(K, 60, replace=False)
    points[without] = 0.0
    table = clustered(points, HASHES, 0, 1)
    assert table[without].tolist() == HASHES.buckets(without, 1).tolist()
    known = np.setdiff1d(np.arange(K), without)
    sizes = np.bincount(table[known], minlength=B)
    assert sizes.max() - sizes.min() <= 5
    same = table[known, None] == table[None, known]
    alike = group[known, None] == group[None, known]
    assert alike[same].mean() > 0.8  # of labels in one bucket; 0.1 by chance


def test_every_repetition_and_seed_has_its_own_clusters() -> None:
    points = np.random.default_rng(0).standard_normal((K, WIDTH)).astype(np.float32)
    tables = [clustered(points.copy(), HASHES, seed, r) for seed, r in ((0, 1), (0, 2), (1, 1), (0, 1))]
    assert tables[0].tolist() == tables[3].tolist()
    assert tables[0].tolist() != tables[1].tolist()
    assert tables[0].tolist() != tables[2].tolist()


def test_golden_clusters() -> None:
    """The same on every machine: points here are whole numbers over 2^16, projections drawn from raw bits."""
    projection = signs(7, 0, 1)
    assert projection.shape == (7, WIDTH)
    assert set(np.unique(projection)) == {-1.0, 1.0}
    raw = np.random.Philox(key=7).random_raw(K * WIDTH) >> np.uint64(48)
    points = (raw.astype(np.float32) / np.float32(65_536)).reshape(K, WIDTH) - np.float32(0.5)
    table = clustered(points, HASHES, 0, 1)
    found = hashlib.sha256(table.astype("<u2").tobytes() + projection.astype("<f4").tobytes()).hexdigest()
    assert found[:16] == "e3708ae940a4220e"
