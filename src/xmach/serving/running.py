"""Starting and ending: one process, or several that share a socket and the pages of one model."""

from __future__ import annotations

import asyncio
import gc
import os
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Callable
from types import FrameType

import uvicorn

from xmach.errors import InputError
from xmach.files import remove_abandoned_scratch, scratch_folder
from xmach.serving import logs
from xmach.serving.app import create_app
from xmach.serving.metrics import SHARED
from xmach.serving.model import Served
from xmach.serving.protocol import connections_to
from xmach.serving.service import Service
from xmach.serving.settings import Settings

_BACKLOG = 2048
_QUICK, _TRIES = 10.0, 3  # after 3 workers in a row that end within 10 seconds, no other is started
_LAST_CALLERS = 0.05  # seconds to take those who were connected already
_SWITCH = 0.0005  # seconds that the thread which answers keeps the interpreter from the one that takes requests


def serve(settings: Settings, ready: Callable[[str], None]) -> int:
    """Serve until told to stop; returns the exit code. `ready` is given the address when requests are answered."""
    settings.token()  # what cannot be read is said at once
    if settings.examples is not None and not settings.examples.is_file():
        raise InputError(f"{settings.examples}: there is no such file of examples")
    remove_abandoned_scratch()  # the meters of a server that was killed
    listening = _bind(settings)
    address = _address(listening)
    threading.Thread(target=_announce, args=(address, ready), daemon=True).start()
    with listening:
        if settings.workers > 1:
            Served.open(settings.folder, settings.verify)  # once for all, and kernels are compiled once
            return _supervise(settings, listening)
        return run_worker(settings, listening, settings.verify)


def run_worker(settings: Settings, listening: socket.socket, verify: bool) -> int:
    """One process: load, answer, and when told to stop answer what was taken."""
    logs.set_up()
    sys.setswitchinterval(_SWITCH)
    served = Served.open(settings.folder, verify, settings.examples)
    service = Service(settings, served)
    gc.collect()
    gc.freeze()  # what is there now stays: looking through it again would hold up requests for 0.1 s at a time
    config = uvicorn.Config(
        create_app(service),
        http=connections_to(service),
        log_config=None,
        access_log=False,
        proxy_headers=False,
        ws="none",
        server_header=False,
        backlog=_BACKLOG,
        timeout_keep_alive=75,
        timeout_graceful_shutdown=int(settings.timeout) + 5,
    )
    server = _Server(config, service, settings.drain)
    for name in (signal.SIGTERM, signal.SIGINT):  # until uvicorn listens to them, and when it raises them at its end
        signal.signal(name, server.stop)
    server.run(sockets=[listening])
    return 0


class _Server(uvicorn.Server):
    """Goes on for a moment after it is told to stop: not ready, and asking callers to close their connections."""

    def __init__(self, config: uvicorn.Config, service: Service, drain: float) -> None:
        super().__init__(config)
        self._service, self._drain = service, drain

    def stop(self, _signal: int, _frame: FrameType | None) -> None:
        """A signal's handler."""
        self.should_exit = True

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Drain, then end."""
        self._service.draining = True
        if self.server_state.connections:
            await asyncio.sleep(self._drain)
        for listening in sockets or []:
            listening.listen(0)  # no new callers are let in, those at the door are
        await asyncio.sleep(_LAST_CALLERS)
        await super().shutdown(sockets)


def _bind(settings: Settings) -> socket.socket:
    """The socket, listening; an address that is taken or not ours is said plainly."""
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_STREAM)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((settings.host, settings.port))
    except OSError as error:
        listening.close()
        raise InputError(
            f"cannot listen at {settings.host}:{settings.port}: {error.strerror or error}; choose another --port"
        ) from None
    listening.listen(_BACKLOG)
    listening.set_inheritable(True)
    return listening


def _address(listening: socket.socket) -> str:
    host, port = listening.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def _announce(address: str, ready: Callable[[str], None]) -> None:
    """Wait until requests are answered, and say so."""
    reached = address.replace("//0.0.0.0:", "//127.0.0.1:").replace("//[::]:", "//[::1]:")
    while True:
        try:
            with urllib.request.urlopen(f"{reached}/readyz", timeout=5):
                ready(address)
                return
        except OSError:
            time.sleep(0.05)


# --- several processes


def _supervise(settings: Settings, listening: socket.socket) -> int:
    """Keep the workers running; a signal is handed on, and the end waited for."""
    stopping = threading.Event()

    def stop(_signal: int, _frame: FrameType | None) -> None:
        stopping.set()

    for name in (signal.SIGTERM, signal.SIGINT):
        signal.signal(name, stop)
    with scratch_folder("meters") as meters:
        environment = os.environ | {SHARED: str(meters)}
        workers = [_start(settings, listening, environment) for _ in range(settings.workers)]
        quick = 0
        while not stopping.wait(0.2):
            for i, (process, begun) in enumerate(workers):
                if process.poll() is None:
                    continue
                quick = quick + 1 if time.monotonic() - begun < _QUICK else 0
                print(f"a worker ended with {process.returncode}", file=sys.stderr)
                if quick >= _TRIES:
                    stopping.set()
                    break
                workers[i] = _start(settings, listening, environment)
        listening.close()
        for process, _ in workers:
            process.terminate()
        codes = {process.wait() for process, _ in workers} - {0, -signal.SIGTERM}  # one that was still starting
    return 1 if codes or quick >= _TRIES else 0


def _start(
    settings: Settings, listening: socket.socket, environment: dict[str, str]
) -> tuple[subprocess.Popen[bytes], float]:
    command = [sys.executable, "-m", "xmach.serving.running", settings.to_json(), str(listening.fileno())]
    process = subprocess.Popen(
        command,
        stdin=subprocess.PIPE,  # see `_end_with_supervisor`
        env=environment,
        pass_fds=[listening.fileno()],
        start_new_session=True,  # Ctrl-C is the supervisor's
    )
    return process, time.monotonic()


def _main(settings: str, descriptor: str) -> int:
    """A worker process: the supervisor has verified the model."""
    threading.Thread(target=_end_with_supervisor, daemon=True).start()
    with socket.socket(fileno=int(descriptor)) as listening:
        return run_worker(Settings.from_json(settings), listening, verify=False)


def _end_with_supervisor() -> None:
    """A supervisor that is killed tells nobody, but its end of our standard input closes: the port must be free."""
    os.read(0, 1)  # not `sys.stdin`: Python cannot end while a thread waits there
    os.kill(os.getpid(), signal.SIGTERM)


if __name__ == "__main__":
    sys.exit(_main(*sys.argv[1:]))
