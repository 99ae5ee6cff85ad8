"""The command without its start: a process that has imported and compiled everything forks for each command.

Two of three seconds of a small command are imports, and the tests run hundreds. What runs in the fork is the command
itself, `xmach.cli.main`, in a process of its own with its own output, environment and exit code. Tests of the start
itself, of signals and of killed processes start a fresh interpreter instead (`xmach_process` in conftest.py).

Run as a program it is the server: a line of JSON in, the exit code out.
"""

from __future__ import annotations

import atexit
import gc
import json
import os
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any, NoReturn


class CommandServer:
    """The side of the tests: starts the server when first asked, and ends it."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[str] | None = None

    def run(self, arguments: list[str], environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
        """Run a command to its end."""
        with tempfile.TemporaryDirectory(prefix="xmach-command-") as folder:
            places = {name: f"{folder}/{name}" for name in ("stdout", "stderr")}
            request = {"arguments": arguments, "environment": environment, "folder": os.getcwd()} | places
            code = int(self._ask(json.dumps(request)))
            said = {name: Path(place).read_text(encoding="utf-8") for name, place in places.items()}
        return subprocess.CompletedProcess(["xmach", *arguments], code, **said)

    def _ask(self, line: str) -> str:
        if self._process is None:
            pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
            self._process = subprocess.Popen([sys.executable, __file__], text=True, **pipes)
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(line + "\n")
        self._process.stdin.flush()
        return self._process.stdout.readline()

    def close(self) -> None:
        """End the server; it ends when its input does."""
        if self._process is not None:
            self._process.communicate()


def serve() -> dict[str, Any] | None:
    """Fork for each request and tell its exit code: None here at the end, the request in the fork."""
    for line in sys.stdin:
        child = os.fork()
        if child == 0:
            request: dict[str, Any] = json.loads(line)
            return request
        _, status = os.waitpid(child, 0)
        print(os.waitstatus_to_exitcode(status), flush=True)
    return None


def become(request: dict[str, Any]) -> None:
    """Take the output, environment, folder and arguments of a command."""
    for number, place in ((0, os.devnull), (1, request["stdout"]), (2, request["stderr"])):
        os.dup2(os.open(place, os.O_RDONLY if number == 0 else os.O_WRONLY | os.O_CREAT, 0o600), number)
    os.environ.clear()
    os.environ.update(request["environment"])
    os.chdir(request["folder"])
    sys.argv = ["xmach", *request["arguments"]]


def leave(main: Callable[[], None]) -> NoReturn:
    """Run the command and end as a process does, but for taking the interpreter apart: that is half a second."""
    code = 0
    try:
        main()
    except SystemExit as error:
        code = error.code if isinstance(error.code, int) else error.code is not None
    except BaseException:
        traceback.print_exc()
        code = 1
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def warm_up() -> None:
    """Train and evaluate a model of nothing: what commands import when called is there then, compiled kernels too."""
    import pyarrow.parquet  # noqa: F401

    import xmach.synthetic  # noqa: F401
    from xmach.cli.app import app

    with (
        tempfile.TemporaryDirectory(prefix="xmach-warm-up-") as folder,
        redirect_stdout(StringIO()),
        redirect_stderr(StringIO()),
    ):
        file, model, cache = Path(folder) / "rows.txt", f"{folder}/model", ["--cache", f"{folder}/cache"]
        file.write_text("20 4 4\n" + "0 1:1\n1 2:1\n2,3 3:1\n3 0:1\n" * 5)
        small = ["--buckets", "2", "--repetitions", "1", "--epochs", "1", "--executor", "local"]
        for hidden in ("none", "2"):
            app(
                ["train", str(file), "--model", model + hidden, "--hidden", hidden, *small, *cache],
                standalone_mode=False,
            )
        app(["evaluate", model + hidden, str(file), *cache], standalone_mode=False)


if __name__ == "__main__":
    from xmach.cli import main

    warm_up()
    gc.freeze()  # or the first collection in a fork would copy every page
    if (asked := serve()) is not None:
        become(asked)
        leave(main)
