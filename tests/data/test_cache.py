"""The cache of read_dataset: built once, whole or not at all, by any number of processes."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from xmach.data.read import reading
from xmach.data.read.reading import read_dataset
from xmach.errors import DataFileError

WriteFile = Callable[..., Path]
TEXT = "2 10 5\n0,1 0:1.0 3:2.0\n2 1:0.5 4:1\n"


def read_in_child(path: Path, cache: Path, barrier, results) -> None:
    barrier.wait()
    results.put(read_dataset(path, cache=cache).fingerprint)


def test_the_second_time_nothing_is_read(write: WriteFile, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, cache = write(TEXT), tmp_path / "deep" / "cache"
    first = read_dataset(path, cache=cache)
    assert first.folder is not None
    assert first.folder.parent == cache
    assert first.fingerprint == read_dataset(path).fingerprint
    monkeypatch.setattr(reading, "open_reader", None)
    assert read_dataset(path, cache=cache).folder == first.folder


def test_a_changed_file_or_option_is_read_anew(write: WriteFile, tmp_path: Path) -> None:
    path, cache = write(TEXT), tmp_path / "cache"
    folders = {read_dataset(path, cache=cache).folder, read_dataset(path, cache=cache, on_error="skip").folder}
    folders.add(read_dataset(path, cache=cache, label_names=list("abcde")).folder)
    folders.add(read_dataset(path, cache=cache, label_names=list("abcdf")).folder)
    os.utime(path, ns=(1, 1))
    folders.add(read_dataset(path, cache=cache).folder)
    assert len(folders) == 5


def test_a_file_of_the_same_size_and_time_is_read_anew(write: WriteFile, tmp_path: Path) -> None:
    path, cache = write(TEXT), tmp_path / "cache"
    before = path.stat()
    first = read_dataset(path, cache=cache)

    def written_back(target: Path) -> None:
        target.write_text(TEXT.replace("2.0", "3.0"))
        os.utime(target, ns=(before.st_atime_ns, before.st_mtime_ns))

    written_back(path)
    while path.stat().st_ctime_ns == before.st_ctime_ns:  # clocks of file systems tick every few milliseconds
        written_back(path)
    assert path.stat().st_mtime_ns == before.st_mtime_ns
    second = read_dataset(path, cache=cache)
    assert second.fingerprint != first.fingerprint
    other = tmp_path / "other"
    written_back(other)
    os.replace(other, path)
    assert read_dataset(path, cache=cache).folder not in (first.folder, second.folder)


@pytest.mark.parametrize("damage", ["meta.json", "features-values.npy"])
def test_a_damaged_cache_is_built_again(write: WriteFile, tmp_path: Path, damage: str) -> None:
    path, cache = write(TEXT), tmp_path / "cache"
    first = read_dataset(path, cache=cache)
    (first.folder / damage).write_bytes(b"")
    assert read_dataset(path, cache=cache).fingerprint == first.fingerprint
    assert [entry.name for entry in cache.iterdir()] == [first.folder.name]


def test_a_bad_file_leaves_nothing_behind(write: WriteFile, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    with pytest.raises(DataFileError, match=":3: 'x' is not a label"):
        read_dataset(write("2 10 5\n0 0:1\nx 1:1\n"), cache=cache)
    assert list(cache.iterdir()) == []


def test_a_cache_that_is_a_file(write: WriteFile, tmp_path: Path) -> None:
    with pytest.raises(DataFileError, match=r"(?i)not a directory|exists"):
        read_dataset(write(TEXT), cache=write("mine", "cache"))


def test_processes_that_build_at_the_same_time(write: WriteFile, tmp_path: Path) -> None:
    path, cache = write("20000 10 5\n" + "1 1:0.25 2:1\n" * 20_000), tmp_path / "cache"
    context = multiprocessing.get_context("spawn")
    barrier, results = context.Barrier(3), context.Queue()
    children = [context.Process(target=read_in_child, args=(path, cache, barrier, results)) for _ in range(3)]
    for child in children:
        child.start()
    fingerprints = {results.get(timeout=60) for _ in children}
    for child in children:
        child.join()
    assert fingerprints == {read_dataset(path).fingerprint}
    assert len(list(cache.iterdir())) == 1


def test_progress_ends_at_the_size_of_the_file(write: WriteFile) -> None:
    path, seen = write(TEXT), []
    read_dataset(path, on_progress=lambda done, total: seen.append((done, total)))
    assert seen[-1] == (len(TEXT), len(TEXT))
