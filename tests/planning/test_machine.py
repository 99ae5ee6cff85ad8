"""The memory that is left, read from made-up /proc and /sys folders."""

from __future__ import annotations

from pathlib import Path

import pytest

from xmach.errors import NotEnoughMemory
from xmach.planning import available_bytes, check_memory

GIB = 2**30
MEMINFO = f"MemTotal:  {32 * 2**20} kB\nMemFree: 1 kB\nMemAvailable:   {20 * 2**20} kB\nHugePages_Total: 0\n"


def write(root: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return root


def version_1(folder: str, limit: int, usage: int, cache: int = 0) -> dict[str, str]:
    return {
        f"sys/fs/cgroup/memory/{folder}/memory.limit_in_bytes": f"{limit}\n",
        f"sys/fs/cgroup/memory/{folder}/memory.usage_in_bytes": f"{usage}\n",
        f"sys/fs/cgroup/memory/{folder}/memory.stat": f"inactive_file 1\ntotal_inactive_file {cache}\n",
    }


def version_2(folder: str, limit: int | str, usage: int, cache: int = 0) -> dict[str, str]:
    return {
        f"sys/fs/cgroup/{folder}/memory.max": f"{limit}\n",
        f"sys/fs/cgroup/{folder}/memory.current": f"{usage}\n",
        f"sys/fs/cgroup/{folder}/memory.stat": f"anon 5\ninactive_file {cache}\nactive_file 7\n",
    }


def test_without_groups_it_is_the_machines(tmp_path: Path) -> None:
    assert available_bytes(write(tmp_path, {"proc/meminfo": MEMINFO})) == 20 * GIB


def test_version_1_group_with_page_cache(tmp_path: Path) -> None:
    groups = {"proc/self/cgroup": "9:name=systemd:/\n4:cpu,memory:/docker/abc\n0::/\n"}
    files = {"proc/meminfo": MEMINFO} | groups | version_1("docker/abc", 8 * GIB, 7 * GIB, cache=5 * GIB)
    assert available_bytes(write(tmp_path, files)) == 6 * GIB


def test_version_1_without_a_limit(tmp_path: Path) -> None:
    groups = {"proc/self/cgroup": "4:memory:/docker/abc\n"}
    files = {"proc/meminfo": MEMINFO} | groups | version_1("docker/abc", 9_223_372_036_854_771_712, GIB)
    assert available_bytes(write(tmp_path, files)) == 20 * GIB


def test_version_2_group_with_page_cache(tmp_path: Path) -> None:
    files = {"proc/meminfo": MEMINFO, "proc/self/cgroup": "0::/user/job\n"}
    files |= version_2("user/job", 4 * GIB, 3 * GIB, cache=2 * GIB)
    assert available_bytes(write(tmp_path, files)) == 3 * GIB


def test_the_limit_may_be_on_a_group_above(tmp_path: Path) -> None:
    files = {"proc/meminfo": MEMINFO, "proc/self/cgroup": "0::/user/job\n"}
    files |= version_2("user/job", "max", GIB) | version_2("user", 6 * GIB, 4 * GIB)
    assert available_bytes(write(tmp_path, files)) == 2 * GIB


@pytest.mark.parametrize("path", ["/", "/kubepods/pod1/a:b", "/../../other"])
def test_in_a_container_the_mounted_root_is_the_group(tmp_path: Path, path: str) -> None:
    files = {"proc/meminfo": MEMINFO, "proc/self/cgroup": f"0::{path}\n"} | version_2("", 2 * GIB, GIB)
    assert available_bytes(write(tmp_path, files)) == GIB


def test_a_group_over_its_limit_leaves_nothing(tmp_path: Path) -> None:
    files = {"proc/meminfo": MEMINFO, "proc/self/cgroup": "0::/\n"} | version_2("", GIB, 2 * GIB)
    assert available_bytes(write(tmp_path, files)) == 0


@pytest.mark.parametrize(
    ("names", "pages"), [({"SC_AVPHYS_PAGES": 1, "SC_PHYS_PAGES": 2}, 1000), ({"SC_PHYS_PAGES": 2}, 3000)]
)
def test_without_proc_it_is_what_sysconf_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, names: dict[str, int], pages: int
) -> None:
    values = {"SC_AVPHYS_PAGES": 1000, "SC_PHYS_PAGES": 3000, "SC_PAGE_SIZE": 4096}
    monkeypatch.setattr("os.sysconf_names", names)
    monkeypatch.setattr("os.sysconf", values.__getitem__)
    assert available_bytes(tmp_path) == pages * 4096


def test_this_machine_has_some() -> None:
    assert available_bytes() > 0


def test_what_does_not_fit_is_refused_with_both_figures() -> None:
    message = r"^training needs 3\.00 GiB of memory, 2\.00 GiB are free: use fewer workers$"
    with pytest.raises(NotEnoughMemory, match=message):
        check_memory(3 * GIB, "training", "use fewer workers", available=2 * GIB)
    check_memory(2 * GIB, "training", "use fewer workers", available=2 * GIB)
    with pytest.raises(NotEnoughMemory, match=r"needs 1048576\.00 TiB"):
        check_memory(2**60, "predicting", "use fewer labels")
