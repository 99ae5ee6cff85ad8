"""Files and folders appear whole or not at all, and what killed processes left is removed."""

from __future__ import annotations

import ast
import errno
import os
import signal
import stat
import subprocess
import sys
import tempfile
import threading
import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from pathlib import Path

import pytest
from tests.conftest import ROOT

from xmach.files import (
    atomic_file,
    atomic_folder,
    is_temporary,
    processes,
    remove_abandoned,
    remove_abandoned_scratch,
    remove_at_once,
    renaming,
    scratch_file,
    scratch_folder,
    write_json,
)

SOURCE = ROOT / "src" / "xmach"


@pytest.fixture
def scratch(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A temporary folder of the system that only this test uses."""
    folder = tmp_path_factory.mktemp("system")
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


@pytest.fixture
def dead() -> int:
    """The id of a process that has ended."""
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    return process.pid


def fill(folder: Path, content: str) -> None:
    (folder / "inner").mkdir()
    (folder / "inner" / "file").write_text(content)


def content_of(folder: Path) -> str:
    return (folder / "inner" / "file").read_text()


# --- files


def test_a_file_appears_when_the_block_ends(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("old")
    with atomic_file(path) as new:
        new.write_text("new")
        assert path.read_text() == "old"
    assert path.read_text() == "new"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("error", [OSError, KeyboardInterrupt])
def test_a_failed_write_leaves_the_old_file(tmp_path: Path, error: type[BaseException]) -> None:
    path = tmp_path / "file"
    path.write_text("old")

    def fail(new: Path) -> None:
        new.write_text("half")
        raise error("disk full")

    with pytest.raises(error, match="disk full"), atomic_file(path) as new:
        fail(new)
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_block_that_writes_nothing_makes_an_empty_file(tmp_path: Path) -> None:
    with atomic_file(tmp_path / "file"):
        pass
    assert (tmp_path / "file").read_bytes() == b""


def test_missing_folders_are_created_only_on_request(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="deep"), atomic_file(tmp_path / "deep" / "file"):
        pass
    assert list(tmp_path.iterdir()) == []
    with atomic_file(tmp_path / "deep" / "er" / "file", parents=True) as new:
        new.write_text("new")
    assert (tmp_path / "deep" / "er" / "file").read_text() == "new"


def test_the_file_is_readable_by_others_even_if_the_library_that_wrote_it_says_otherwise(tmp_path: Path) -> None:
    (tmp_path / "plain").touch()
    with atomic_file(tmp_path / "file") as new:
        new.unlink()
        new.touch(0o600)
    assert (tmp_path / "file").stat().st_mode == (tmp_path / "plain").stat().st_mode


def test_a_folder_is_not_replaced_by_a_file(tmp_path: Path) -> None:
    with pytest.raises(IsADirectoryError, match=tmp_path.name), atomic_file(tmp_path):
        pass


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    target, link = tmp_path / "there" / "file", tmp_path / "link"
    target.write_text("old")
    link.symlink_to(target)
    with atomic_file(link) as new:
        new.write_text("new")
    assert link.is_symlink()
    assert target.read_text() == "new"


def test_a_pipe_is_written_to_and_stays_a_pipe(tmp_path: Path) -> None:
    pipe, read = tmp_path / "pipe", []
    os.mkfifo(pipe)
    reader = threading.Thread(target=lambda: read.append(pipe.read_text()))
    reader.start()
    with atomic_file(pipe) as new:
        new.write_text("through")
    reader.join()
    assert read == ["through"]
    assert stat.S_ISFIFO(pipe.stat().st_mode)


def test_a_link_to_a_pipe_is_written_through(tmp_path: Path) -> None:
    """/dev/stdout is such a link, and the name that the system shows behind it is not a file."""
    readable, writable = os.pipe()
    with atomic_file(Path(f"/dev/fd/{writable}")) as new:
        new.write_text("through")
    os.close(writable)
    with open(readable) as pipe:
        assert pipe.read() == "through"


def no_links(_source: Path, _target: Path) -> None:
    raise OSError(errno.EPERM, "no hard links here")


@pytest.mark.parametrize("links", [True, False])
def test_a_name_is_claimed_once(tmp_path: Path, links: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if not links:
        monkeypatch.setattr(os, "link", no_links)
    path = tmp_path / "file"
    write_json(path, {"first": 1}, exclusive=True)
    with pytest.raises(FileExistsError, match="file"):
        write_json(path, {"second": 2}, exclusive=True)
    assert path.read_text() == '{\n "first": 1\n}\n'
    assert list(tmp_path.iterdir()) == [path]


def test_one_of_many_claims_wins(tmp_path: Path) -> None:
    path = tmp_path / "file"
    with ThreadPoolExecutor(8) as pool:
        claims = [pool.submit(write_json, path, {"writer": i}, exclusive=True) for i in range(40)]
    won = [i for i, claim in enumerate(claims) if claim.exception() is None]
    assert len(won) == 1
    assert {type(claim.exception()) for claim in claims} == {type(None), FileExistsError}
    assert path.read_text() == f'{{\n "writer": {won[0]}\n}}\n'


# --- folders


def test_a_folder_appears_when_the_block_ends(tmp_path: Path) -> None:
    path = tmp_path / "missing" / "folder"
    with atomic_folder(path) as new:
        fill(new, "new")
        assert not path.exists()
    assert content_of(path) == "new"
    assert list(path.parent.iterdir()) == [path]


def test_a_folder_that_is_there_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "folder"
    with atomic_folder(path) as new:
        fill(new, "old")
    with pytest.raises(FileExistsError, match="folder"), atomic_folder(path) as new:
        fill(new, "new")
    assert content_of(path) == "old"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("replace", [True, False])
def test_a_link_to_a_folder_stays_a_link(tmp_path: Path, replace: bool) -> None:
    (tmp_path / "there" / "folder").mkdir(parents=True)
    target, link = tmp_path / "there" / "folder", tmp_path / "link"
    link.symlink_to(target)
    with atomic_folder(link, replace=replace) as new:
        assert new.parent.parent == target.parent  # on the same disk
        fill(new, "new")
    assert link.is_symlink()
    assert content_of(target) == "new"
    assert [path.name for path in target.parent.iterdir()] == ["folder"]


def test_a_file_is_not_replaced_by_a_folder_unasked(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("old")
    with pytest.raises(FileExistsError, match="file"), atomic_folder(tmp_path / "file"):
        pass
    assert (tmp_path / "file").read_text() == "old"


@pytest.mark.skipif(not os.path.ismount("/dev"), reason="needs a mount point")
def test_a_mount_point_is_not_said_to_be_taken(tmp_path: Path) -> None:
    (tmp_path / "new").mkdir()
    with pytest.raises(OSError, match="/dev") as error:
        renaming.rename_to_free(tmp_path / "new", Path("/dev"))
    assert not isinstance(error.value, FileExistsError)


@pytest.mark.parametrize("replace", [True, False])
def test_the_working_directory_is_replaced_and_stays_the_working_directory(
    tmp_path: Path, replace: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "folder"
    path.mkdir()
    if replace:
        fill(path, "old")
    monkeypatch.chdir(path)
    with atomic_folder(Path("."), replace=replace) as new:
        fill(new, "new")
    assert Path.cwd() == path
    assert content_of(Path(".")) == content_of(path) == "new"
    assert list(tmp_path.iterdir()) == [path]


def test_a_block_may_change_the_working_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "here").mkdir()
    (tmp_path / "elsewhere").mkdir()
    for publish, name in ((atomic_file, "file"), (atomic_folder, "folder")):
        monkeypatch.chdir(tmp_path / "here")
        with publish(Path(name)):
            os.chdir(tmp_path / "elsewhere")
        assert [path.name for path in tmp_path.glob("*/*") if path.name == name] == [name]
        assert (tmp_path / "here" / name).exists()


def cannot_exchange(_one: Path, _other: Path) -> bool:
    return False


@pytest.mark.parametrize("exchange", [True, False], ids=["in one step", "in two steps"])
@pytest.mark.parametrize("there", ["folder", "empty folder", "file", "nothing"])
def test_a_folder_replaces_what_is_there(
    tmp_path: Path, exchange: bool, there: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not exchange:
        monkeypatch.setattr(renaming, "exchange", cannot_exchange)
    path = tmp_path / "folder"
    if there == "file":
        path.write_text("old")
    elif there != "nothing":
        path.mkdir()
        if there == "folder":
            fill(path, "old")
    with atomic_folder(path, replace=True) as new:
        fill(new, "new")
    assert content_of(path) == "new"
    assert list(tmp_path.iterdir()) == [path]


def test_many_may_replace_a_folder_at_once(tmp_path: Path) -> None:
    """Somebody who looks at the same time always finds a whole folder."""
    path, done = tmp_path / "folder", threading.Event()

    def replace(number: int) -> None:
        with atomic_folder(path, replace=True) as new:
            fill(new, str(number))

    def look() -> int:
        looks = 0
        while not done.is_set():
            assert [entry.name for entry in path.iterdir()] in (["inner"], [])  # [] if it was replaced meanwhile
            assert (path / "inner").is_dir()
            looks += 1
        return looks

    replace(0)
    with ThreadPoolExecutor(5) as pool:
        looking = pool.submit(look)
        for each in [pool.submit(replace, number) for number in range(100)]:
            each.result()
        done.set()
        assert looking.result() > 0
    assert list(tmp_path.iterdir()) == [path]


def test_an_interrupted_swap_gives_the_old_folder_its_name_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where the system cannot exchange two names in one step."""
    path, rename, renames = tmp_path / "folder", os.rename, list[Path]()
    path.mkdir()
    fill(path, "old")

    def interrupted(source: Path, target: Path) -> None:
        renames.append(target)
        if len(renames) == 3:  # onto the folder, which fails; the old one aside; and now the new one
            raise KeyboardInterrupt("Ctrl-C")
        rename(source, target)

    monkeypatch.setattr(renaming, "exchange", cannot_exchange)
    monkeypatch.setattr(os, "rename", interrupted)
    with pytest.raises(KeyboardInterrupt, match="Ctrl-C"), atomic_folder(path, replace=True) as new:
        fill(new, "new")
    assert content_of(path) == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_removing(tmp_path: Path) -> None:
    folder, file = tmp_path / "folder", tmp_path / "file"
    folder.mkdir()
    fill(folder, "old")
    file.touch()
    for path in (folder, file):
        assert remove_at_once(path)
        assert not remove_at_once(path)
    assert not remove_at_once(tmp_path / "missing" / "file")
    assert list(tmp_path.iterdir()) == []


LONG_NAMES = ["n" * 255, "\N{SNOWMAN}" * 85, os.fsdecode(b"\xff" * 255), "two\nlines" + "." * 240]


@pytest.mark.parametrize("name", LONG_NAMES, ids=["ASCII", "Unicode", "bytes", "dots"])
def test_names_may_be_as_long_as_the_file_system_allows(tmp_path: Path, name: str) -> None:
    write_json(tmp_path / name, {})
    assert (tmp_path / name).is_file()
    with atomic_folder(tmp_path / name, replace=True) as new:
        assert is_temporary(new.parent)
    assert (tmp_path / name).is_dir()
    assert remove_at_once(tmp_path / name)
    assert list(tmp_path.iterdir()) == []


KILLED_WHILE_REPLACING = """
import os, signal, sys
from pathlib import Path
from xmach import files
from xmach.files import renaming
renaming.exchange = lambda one, other: False  # as where the file system cannot do it
rename, renames = os.rename, []
def killed(source, target):
    renames.append(target)
    if len(renames) == 3:  # onto the old folder, which fails; the old one aside; and now the new one
        os.kill(os.getpid(), signal.SIGKILL)
    rename(source, target)
os.rename = killed
with files.atomic_folder(Path(sys.argv[1]), replace=True) as new:
    (new / "file").touch()
"""


@pytest.mark.parametrize("name", LONG_NAMES, ids=["ASCII", "Unicode", "bytes", "dots"])
def test_a_folder_moved_aside_gets_its_long_name_back(tmp_path: Path, name: str) -> None:
    (tmp_path / name).mkdir()
    fill(tmp_path / name, "old")
    ended = subprocess.run([sys.executable, "-c", KILLED_WHILE_REPLACING, tmp_path / name], check=False)
    assert ended.returncode == -signal.SIGKILL
    assert not (tmp_path / name).exists()
    remove_abandoned(tmp_path)
    assert content_of(tmp_path / name) == "old"
    assert [path.name for path in tmp_path.iterdir()] == [name]


# --- what is left


def left_by(process: int, machine: str | None = None, started: str = "1") -> str:
    return f".file.{machine or processes.machine()}-{process}-{started}-0123.part"


def test_what_dead_processes_left_is_removed_and_what_live_ones_write_is_not(tmp_path: Path, dead: int) -> None:
    names = {
        "live": f".file.{processes.writer()}.part",
        "dead": left_by(dead),
        "a later process with the same id": left_by(os.getpid()),
        "another machine": left_by(1, "beef"),
        "another machine, long ago": left_by(1, "cafe"),
        "not ours": ".mine.part",
    }
    for folder in (tmp_path, tmp_path / "deep"):
        folder.mkdir(exist_ok=True)
        for name in names.values():
            (folder / name).mkdir()
            (folder / name / "new").write_text("half a file")
        for path in (folder / names["another machine, long ago"] / "new", folder / names["another machine, long ago"]):
            os.utime(path, (0, 0))
    for folder in (tmp_path, tmp_path / "deep"):
        assert all((folder / name).exists() for name in names.values())
        remove_abandoned(tmp_path, deep=folder != tmp_path)
        kept = [kind for kind, name in names.items() if (folder / name).exists()]
        assert kept == ["live", "another machine", "not ours"]


def test_what_older_versions_left_is_removed(tmp_path: Path, dead: int) -> None:
    """Their names have no start time, and another name for the machine."""
    here = f"{uuid.getnode():x}"
    names = {
        "live": f".plan.json.{here}-{os.getpid()}-{uuid.uuid4().hex}.part",
        "dead": f".plan.json.{here}-{dead}-{uuid.uuid4().hex}.part",
        "another machine": f".plan.json.beef-{dead}-{uuid.uuid4().hex}.part",
        "another machine, long ago": f".plan.json.cafe-{dead}-{uuid.uuid4().hex}.part",
    }
    for name in names.values():
        assert is_temporary(tmp_path / name)
        (tmp_path / name).write_text("half a file")
    os.utime(tmp_path / names["another machine, long ago"], (0, 0))
    remove_abandoned(tmp_path)
    assert [kind for kind, name in names.items() if (tmp_path / name).exists()] == ["live", "another machine"]


def test_a_number_that_is_not_a_process_is_left_alone(scratch: Path) -> None:
    numbers = ("9" * 20, "9" * 10, "9" * 200)
    strange = {scratch / f"xmach-x.{processes.machine()}-{number}-1-ff.part" for number in numbers}
    for path in strange:
        path.touch()
    with scratch_folder() as folder:
        assert set(scratch.iterdir()) == {*strange, folder}


def test_a_process_that_was_killed_and_not_waited_for_is_dead(tmp_path: Path) -> None:
    process = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    left = tmp_path / left_by(process.pid, started=processes.status(process.pid)[1])
    left.touch()
    remove_abandoned(tmp_path)
    assert left.exists()
    process.kill()
    while processes.status(process.pid)[0] != "Z":
        pass
    remove_abandoned(tmp_path)
    assert not left.exists()
    process.communicate()


def test_a_folder_that_a_killed_process_had_moved_aside_comes_back(tmp_path: Path, dead: int) -> None:
    aside = tmp_path / left_by(dead) / "old"
    aside.mkdir(parents=True)
    fill(aside, "old")
    remove_abandoned(tmp_path)
    assert content_of(tmp_path / "file") == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_every_write_cleans_up_beside_its_target(tmp_path: Path, dead: int) -> None:
    def write_file() -> None:
        with atomic_file(tmp_path / "other"):
            pass

    def write_folder() -> None:
        with atomic_folder(tmp_path / "folder", replace=True):
            pass

    for write in (write_file, write_folder, lambda: remove_at_once(tmp_path / "other")):
        (tmp_path / left_by(dead)).mkdir()
        write()
        assert not [path for path in tmp_path.iterdir() if is_temporary(path)]


def test_temporary_names() -> None:
    assert is_temporary(Path("folder") / f".file.{processes.writer()}.part")
    assert is_temporary(Path(f"xmach-board.{processes.writer()}.part"))
    for name in ("file", "file.part", ".file.part", ".file.0123.part"):
        assert not is_temporary(Path(name))


def test_nothing_to_clean_up_in_a_folder_that_is_not_there(tmp_path: Path) -> None:
    remove_abandoned(tmp_path / "missing")
    remove_abandoned(tmp_path / "missing", deep=True)


# --- scratch space


def test_a_scratch_folder_is_private_and_ends_with_its_block(scratch: Path) -> None:
    with scratch_folder("rows") as folder:
        assert folder.parent == scratch
        assert folder.name.startswith("xmach-rows.")
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
        fill(folder, "rows")
    assert list(scratch.iterdir()) == []


def test_a_scratch_file_is_private_and_zeros(scratch: Path) -> None:
    path = scratch_file("board", 100)
    assert path.read_bytes() == bytes(100)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    remove_abandoned_scratch()
    assert list(scratch.iterdir()) == [path]


@pytest.mark.parametrize("kind", ["file", "folder"])
def test_scratch_space_of_a_killed_process_is_removed(scratch: Path, dead: int, kind: str) -> None:
    elsewhere, board, meters = (
        scratch / f"xmach-{kind}.{machine}-{dead}-1-0123.part"
        for kind, machine in (("rows", "beef"), ("board", processes.machine()), ("meters", processes.machine()))
    )
    for folder in (elsewhere, meters):
        folder.mkdir()
        fill(folder, "rows")
        os.utime(folder, (0, 0))
    board.touch()
    with scratch_folder("rows") if kind == "folder" else nullcontext(scratch_file("board", 8)) as made:
        # another machine may read what it has not changed for long
        assert set(scratch.iterdir()) == {elsewhere, made}


# --- the only code that does this

_CALLS = {"rename", "renames", "link", "link_to", "hardlink_to", "symlink", "symlink_to", "fsync", "fdatasync"}
_CALLS |= {"mkstemp", "mkdtemp", "NamedTemporaryFile", "TemporaryFile", "TemporaryDirectory", "O_EXCL", "renameat2"}


def publishing(source: str) -> Iterator[str]:
    """Whatever in a module renames, links, flushes to disk or makes temporary files."""
    for node in ast.walk(ast.parse(source)):
        line = f"line {getattr(node, 'lineno', 0)}"
        match node:
            case ast.Import(names=names) if any(each.name == "tempfile" for each in names):
                yield f"{line}: import tempfile"
            case ast.ImportFrom(module="tempfile"):
                yield f"{line}: from tempfile import ..."
            case ast.ImportFrom(module="os", names=names) if {each.name for each in names} & (_CALLS | {"replace"}):
                yield f"{line}: from os import ..."
            case ast.Attribute(attr=name) if name in _CALLS:
                yield f"{line}: .{name}"
            case ast.Attribute(value=ast.Name(id="os"), attr="replace"):
                yield f"{line}: os.replace"
            case ast.Attribute(value=ast.Name(id="shutil"), attr="move"):
                yield f"{line}: shutil.move"
            # str.replace takes two arguments, dataclasses.replace and datetime.replace take keywords
            case ast.Call(func=ast.Attribute(attr="replace"), args=[_], keywords=[]):
                yield f"{line}: Path.replace"
            case ast.Call(func=ast.Attribute(attr="open") | ast.Name(id="open"), args=arguments, keywords=keywords):
                for argument in [*arguments, *(each.value for each in keywords)]:
                    match argument:
                        case ast.Constant(value=str(mode)) if "x" in mode and set(mode) <= set("xbt+"):
                            yield f"{line}: open(..., {mode!r})"
            case ast.Constant(value=str(text)) if text.endswith(".part"):
                yield f"{line}: a name that ends with .part"


@pytest.mark.parametrize(
    "source",
    [
        "import tempfile",
        "from tempfile import mkdtemp",
        "from os import replace",
        "import os\nos.replace(a, b)",
        "import os\nos.rename(a, b)",
        "import os\nos.link(a, b)",
        "import os\nos.fsync(0)",
        "import os\nos.open(a, os.O_CREAT | os.O_EXCL)",
        "import shutil\nshutil.move(a, b)",
        "path.rename(other)",
        "path.replace(other)",
        "open(path, 'x')",
        "path.open(mode='xb')",
        "path.with_name(f'.{path.name}.part')",
    ],
)
def test_the_next_test_would_find(source: str) -> None:
    assert list(publishing(source))
    assert not list(
        publishing("text.replace('a', 'b'); replace(plan, seed=1); moment.replace(hour=0); path.open('wb')")
    )


@pytest.mark.parametrize(
    "path",
    sorted(set(SOURCE.rglob("*.py")) - set((SOURCE / "files").iterdir())),
    ids=lambda path: str(path.relative_to(SOURCE)),
)
def test_no_other_module_renames_or_makes_temporary_files(path: Path) -> None:
    found = list(publishing(path.read_text(encoding="utf-8")))
    assert not found, f"use xmach.files in {path}: {found}"
