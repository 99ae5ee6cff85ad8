"""The index: every label once a repetition, in the bucket that its signature says, from tables or from the hash."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from xmach.buckets import (
    Tables,
    UniversalHashes,
    computed,
    fill_tables,
    new_tables,
    stored,
    table_index,
    table_shapes,
)


def tables_of(hashes: UniversalHashes, threads: int = 1) -> Tables:
    tables = new_tables(hashes)
    for table in tables:
        table[:] = 77  # what memory happens to hold
    fill_tables(hashes, tables, threads)
    return tables


@settings(deadline=None, max_examples=60)
@given(st.integers(1, 200), st.integers(2, 300), st.integers(1, 5), st.integers(0, 100), st.sampled_from([1, 3, 10**6]))
def test_members_partition_the_labels(n_labels: int, n_buckets: int, n_repetitions: int, seed: int, room: int) -> None:
    hashes = UniversalHashes.draw(n_labels, n_buckets, n_repetitions, seed, n_labels * room)
    tables = tables_of(hashes)
    np.testing.assert_array_equal(tables.signatures, hashes.signatures())
    assert tables.offsets.shape == (n_repetitions, n_buckets + 1)
    for r in range(n_repetitions):
        members = [tables.members(r, bucket) for bucket in range(n_buckets)]
        assert sorted(np.concatenate(members).tolist()) == list(range(n_labels))
        for bucket, labels in enumerate(members):
            assert labels.tolist() == np.flatnonzero(tables.signatures[:, r] == bucket).tolist()  # by rising id


@pytest.mark.parametrize("n_buckets", [2, 256, 257, 65_536, 65_537])
def test_shapes_and_types_are_what_is_made(n_buckets: int) -> None:
    hashes = UniversalHashes.draw(300, n_buckets, 3)
    tables = tables_of(hashes)
    assert {name: (table.shape, table.dtype) for name, table in tables._asdict().items()} == table_shapes(hashes)
    assert tables.signatures.dtype == hashes.dtype == hashes.signatures().dtype
    np.testing.assert_array_equal(tables.signatures, hashes.signatures())


@pytest.mark.parametrize("threads", [0, 2, 5])
def test_threads_change_nothing(threads: int) -> None:
    hashes = UniversalHashes.draw(150_000, 90, 4, seed=5)  # more labels than a thread takes at a time
    for one, other in zip(tables_of(hashes), tables_of(hashes, threads), strict=True):
        assert one.tobytes() == other.tobytes()


def test_tables_in_files(tmp_path: Path) -> None:
    hashes = UniversalHashes.draw(5000, 300, 4, seed=5)
    mapped = Tables(
        *(
            np.lib.format.open_memmap(tmp_path / f"{name}.npy", "w+", dtype, shape)
            for name, (shape, dtype) in table_shapes(hashes).items()
        )
    )
    fill_tables(hashes, mapped, 2)
    for name, table in tables_of(hashes)._asdict().items():
        np.testing.assert_array_equal(np.load(tmp_path / f"{name}.npy", mmap_mode="r"), table)


def test_a_failure_of_a_thread_is_told() -> None:
    hashes = UniversalHashes.draw(500, 20, 4)
    tables = new_tables(hashes)
    tables.labels.flags.writeable = False
    with pytest.raises(Exception, match=r"(?i)read.?only|immutable|modify"):
        fill_tables(hashes, tables, 2)


def test_a_table_gives_the_same_lists_as_its_hashes() -> None:
    hashes = UniversalHashes.draw(500, 20, 4, seed=2)
    tables = tables_of(hashes)
    index = table_index(hashes.signatures(), threads=3)
    np.testing.assert_array_equal(index.offsets, tables.offsets)
    np.testing.assert_array_equal(index.labels, tables.labels)
    np.testing.assert_array_equal(index.signatures, tables.signatures)
    assert (index.n_labels, index.n_buckets, index.prime) == (500, 20, 0)
    assert index.labels.dtype == np.int32


def test_the_number_of_buckets_of_a_table_is_seen() -> None:
    index = table_index(np.array([[0, 2], [1, 0], [1, 2]], np.uint8))
    assert index.n_buckets == 3
    assert index.offsets.tolist() == [[0, 1, 3, 3], [0, 1, 1, 3]]
    assert index.labels.tolist() == [[0, 1, 2], [1, 0, 2]]


def test_stored_is_computed_with_tables() -> None:
    hashes = UniversalHashes.draw(1000, 8, 3, seed=9)
    tables = tables_of(hashes)
    with_tables, without = stored(hashes, tables), computed(hashes)
    assert (without.n_labels, without.n_buckets, without.prime) == (1000, 8, hashes.prime)
    assert with_tables[:3] == without[:3]
    assert all(with_tables._asdict()[name] is table for name, table in tables._asdict().items())
    assert all(without._asdict()[name].size == 0 for name in tables._asdict())
    assert without.signatures.shape == (0, 3)
    assert ((without.a * without.inverse) % hashes.prime == 1).all()
    assert without.b.tolist() == list(hashes.b)


@pytest.mark.parametrize("bucket", [0, 7])
def test_the_arithmetic_progression_of_a_bucket(bucket: int) -> None:
    # members are a^-1 (y - b) mod p for y = c, c + B, ...: what the index without tables rests on
    hashes = UniversalHashes.draw(1000, 8, 1, seed=9)
    p, inverse = hashes.prime, int(computed(hashes).inverse[0])
    expected = sorted(x for y in range(bucket, p, 8) if (x := inverse * (y - hashes.b[0]) % p) < 1000)
    assert tables_of(hashes).members(0, bucket).tolist() == expected
