"""The real thing: `xmach serve` as a process, asked over a socket."""

from __future__ import annotations

import gc
import http.client
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import uvicorn
from tests.conftest import Run
from tests.serving.conftest import PRODUCTS
from tests.serving.test_keeping import exchange

from xmach import MACHClassifier
from xmach.serving import running
from xmach.serving.answering import answer
from xmach.serving.messages import PredictRequest
from xmach.serving.model import Served, version_of
from xmach.serving.settings import Settings

TOKEN = "a-secret-of-24-characters"


class Server:
    """A running server; what it said is kept."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process, self.said = process, list[str]()
        self.ending = False
        self._told = threading.Event()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        assert self._told.wait(120), f"it did not start: {self.said}"
        address = re.search(r"http://127\.0\.0\.1:(\d+)", "".join(self.said))
        assert address, self.said
        self.port = int(address.group(1))

    def _read(self) -> None:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            self.said.append(line)
            if " at http://" in line:
                self._told.set()
        self._told.set()

    def ask(self, method: str, path: str, body: Any = None, headers: dict[str, str] | None = None) -> tuple[int, Any]:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        given = {"content-type": "application/json"} | (headers or {})
        connection.request(method, path, None if body is None else json.dumps(body), given)
        response = connection.getresponse()
        content = response.read()
        connection.close()
        return response.status, json.loads(content) if content[:1] == b"{" else content.decode()

    def children(self) -> list[str]:
        return Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text().split()

    def end(self, name: signal.Signals = signal.SIGTERM) -> int:
        self.ending = True
        self.process.send_signal(name)
        code = self.process.wait(60)
        self._reader.join(10)
        return code


@contextmanager
def serving(folder: Path, *options: str, environment: dict[str, str] | None = None) -> Iterator[Server]:
    command = [sys.executable, "-m", "xmach", "serve", str(folder), "--port", "0", *options]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=os.environ | (environment or {}))
    try:
        yield Server(process)
    finally:
        if process.poll() is None:
            process.kill()
        process.wait()
        assert process.stderr is not None
        process.stderr.close()


def load_until(server: Server, stop: threading.Event, outcomes: list[Any]) -> None:
    """Ask over and over on one connection, opened anew when the server closes it; keep every status and version.

    A new connection that is reset while the server ends was never taken: the system had it, not the server.
    """
    connection: http.client.HTTPConnection | None = None
    asked = 0  # on this connection
    body = json.dumps({"texts": ["red lamp"], "k": 3})
    while not stop.is_set():
        try:
            if connection is None:
                connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
                connection.connect()
                asked = 0
        except OSError:  # nobody listens any more
            return
        try:
            connection.request("POST", "/v1/predict", body, {"content-type": "application/json"})
            response = connection.getresponse()
            outcomes.append((response.status, json.loads(response.read()).get("model")))
            asked += 1
            if response.will_close:
                connection.close()
                connection = None
        except (OSError, http.client.HTTPException) as error:
            connection.close()
            connection = None
            if server.ending and not asked:
                return
            outcomes.append((0, repr(error)))
    if connection is not None:
        connection.close()


@contextmanager
def under_load(server: Server, callers: int = 4) -> Iterator[list[Any]]:
    stop, outcomes = threading.Event(), list[Any]()
    threads = [threading.Thread(target=load_until, args=(server, stop, outcomes)) for _ in range(callers)]
    for thread in threads:
        thread.start()
    try:
        yield outcomes
    finally:
        stop.set()
        for thread in threads:
            thread.join(60)


def test_it_answers_ends_when_told_and_logs_in_json(folder: Path, served: Served) -> None:
    with serving(folder) as server:
        status, body = server.ask("POST", "/v1/predict", {"texts": ["red lamp"]}, {"x-request-id": "mine"})
        expected = answer(served, [PredictRequest(texts=["red lamp"])])[0]
        assert isinstance(expected, bytes)
        assert (status, body) == (200, json.loads(expected))
        assert server.end() == 0
    records = [json.loads(line) for line in server.said if line.startswith("{")]
    (request,) = [record for record in records if record.get("id") == "mine"]
    assert (request["event"], request["path"], request["status"]) == ("request", "/v1/predict", 200)
    assert "red lamp" not in "".join(server.said)


def test_what_was_taken_is_answered_after_a_signal(folder: Path) -> None:
    with serving(folder, "--drain", "2") as server:
        with under_load(server, 6) as outcomes:
            time.sleep(1)
            assert server.end() == 0
        assert len(outcomes) > 20
        assert {status for status, _ in outcomes} == {200}


def test_what_is_too_much_is_refused_and_later_taken_again(folder: Path) -> None:
    with serving(folder, "--queue", "2", "--max-inputs", "2") as server:
        with under_load(server, 12) as outcomes:
            time.sleep(1.5)
            assert server.ask("GET", "/healthz")[0] == 200
            for _ in range(1000):
                status, body = server.ask("POST", "/v1/predict", {"texts": ["a"]})
                if status == 503:
                    break
            assert body["error"]["code"] == "busy"
            assert len(body["error"]["request_id"]) == 32
            assert 'path="refused unread",status="503"' in server.ask("GET", "/metrics")[1]
        assert {status for status, _ in outcomes} == {200, 503}
        assert server.ask("POST", "/v1/predict", {"texts": ["a"]})[0] == 200
        assert server.end() == 0


def test_it_is_not_ready_while_it_drains_and_closes_connections(folder: Path) -> None:
    with serving(folder, "--drain", "3") as server:
        held = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
        held.request("GET", "/readyz")
        assert held.getresponse().read() == b'{"status":"ready"}'
        server.process.send_signal(signal.SIGTERM)
        time.sleep(0.5)
        held.request("GET", "/readyz")
        response = held.getresponse()
        assert (response.status, response.getheader("connection")) == (503, "close")
        response.read()
        assert server.ask("POST", "/v1/predict", {"texts": ["a"]})[0] == 200
        assert server.process.wait(60) == 0


def test_new_models_are_taken_under_load_without_a_failed_request(
    tmp_path: Path, folder: Path, other_folder: Path
) -> None:
    reload_under_load(tmp_path, folder, other_folder, 4)


@pytest.mark.slow
def test_fifty_new_models_are_taken_under_load_without_a_failed_request(
    tmp_path: Path, folder: Path, other_folder: Path
) -> None:
    reload_under_load(tmp_path, folder, other_folder, 50)


def reload_under_load(tmp_path: Path, folder: Path, other_folder: Path, times: int) -> None:
    link = tmp_path / "live"
    link.symlink_to(folder)
    bad = Path(shutil.copytree(other_folder, tmp_path / "bad"))
    (bad / "repetition-000.safetensors").write_bytes(b"nonsense")
    with serving(link, "--watch", "0.05") as server, under_load(server) as outcomes:
        for i in range(times):
            chosen = (other_folder, folder)[i % 2]
            exchange(link, chosen)
            _wait_for(server, version_of(chosen))
        before = len(outcomes)
        exchange(link, bad)
        for _ in range(500):
            if 'xmach_reloads_total{result="refused"} 1.0' in server.ask("GET", "/metrics")[1]:
                break
            time.sleep(0.02)
        else:
            raise AssertionError("the bad model was not refused within 10 s")
        time.sleep(0.2)
        assert len(outcomes) > before
        last = outcomes[-1]
    assert {status for status, _ in outcomes} == {200}
    assert {version for _, version in outcomes} == {version_of(folder), version_of(other_folder)}
    assert last == (200, version_of((other_folder, folder)[(times - 1) % 2]))


def _wait_for(server: Server, version: str) -> None:
    for _ in range(1000):
        if server.ask("GET", "/v1/models")[1]["models"][0]["version"] == version:
            return
        time.sleep(0.02)
    raise AssertionError("the new model was not taken within 20 s")


def test_several_workers_answer_alike_add_up_their_meters_and_end_together(folder: Path) -> None:
    with serving(folder, "--workers", "2") as server:
        bodies = [server.ask("POST", "/v1/predict", {"texts": [product]}) for product in PRODUCTS[:30]]
        again = [server.ask("POST", "/v1/predict", {"texts": [product]}) for product in PRODUCTS[:30]]
        assert bodies == again
        assert 'xmach_requests_total{path="/v1/predict",status="200"} 60.0' in server.ask("GET", "/metrics")[1]
        children = server.children()
        assert len(children) == 2
        assert server.end(signal.SIGINT) == 0
        assert not any(Path(f"/proc/{child}").exists() for child in children)


def test_every_worker_takes_a_new_model(tmp_path: Path, folder: Path, other_folder: Path) -> None:
    link = tmp_path / "live"
    link.symlink_to(folder)
    with serving(link, "--workers", "2", "--watch", "0.05") as server, under_load(server) as outcomes:
        time.sleep(0.5)
        exchange(link, other_folder)
        for _ in range(500):
            if {version for _, version in outcomes[-40:]} == {version_of(other_folder)}:
                break
            time.sleep(0.05)
        else:
            raise AssertionError("a worker answers with the old model after 25 s")
    assert {status for status, _ in outcomes} == {200}


def test_a_signal_before_the_first_request_is_not_lost(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def run(server: running._Server, sockets: list[socket.socket]) -> None:
        signal.raise_signal(signal.SIGTERM)
        uvicorn.Server.run(server, sockets)

    monkeypatch.setattr(running._Server, "run", run)
    before = {name: signal.getsignal(name) for name in (signal.SIGTERM, signal.SIGINT)}
    switching = sys.getswitchinterval()
    try:
        with socket.create_server(("127.0.0.1", 0)) as listening:
            assert running.run_worker(Settings(folder), listening, verify=False) == 0
    finally:
        gc.unfreeze()
        sys.setswitchinterval(switching)
        for name, handler in before.items():
            signal.signal(name, handler)


def test_workers_end_when_their_supervisor_is_killed(folder: Path, tmp_path: Path) -> None:
    """And the next server removes its meters, even if it has none itself."""
    place = {"TMPDIR": str(tmp_path)}
    with serving(folder, "--workers", "2", environment=place) as server:
        children = server.children()
        server.process.kill()
        server.process.wait()
        for _ in range(500):
            if not any(Path(f"/proc/{child}").exists() for child in children):
                break
            time.sleep(0.02)
        else:
            raise AssertionError("workers without a supervisor hold the port after 10 s")
    assert [path.name.split(".")[0] for path in tmp_path.iterdir()] == ["xmach-meters"]
    with serving(folder, environment=place) as server:
        assert server.end() == 0
    assert list(tmp_path.iterdir()) == []


def test_a_worker_that_dies_is_replaced(folder: Path) -> None:
    with serving(folder, "--workers", "2") as server:
        first = server.children()
        os.kill(int(first[0]), signal.SIGKILL)
        for _ in range(500):
            now = server.children()
            if len(now) == 2 and first[0] not in now:
                break
            time.sleep(0.05)
        else:
            raise AssertionError(f"no worker took its place within 25 s: {server.said}")
        assert server.ask("POST", "/v1/predict", {"texts": ["a"]})[0] == 200
        assert server.end() == 0


def test_slow_callers_are_told_so(folder: Path) -> None:
    with serving(folder, "--timeout", "0.5") as server:
        for sent in (b"POST /v1/pre", b"POST /v1/predict HTTP/1.1\r\nhost: x\r\n"):
            with socket.create_connection(("127.0.0.1", server.port), timeout=30) as slow:
                slow.sendall(sent)
                assert slow.recv(1000).startswith(b"HTTP/1.1 408 ")
        head = b"POST /v1/predict HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 50\r\n\r\n{"
        with socket.create_connection(("127.0.0.1", server.port), timeout=30) as slow:
            slow.sendall(head)
            answer = slow.recv(4000)
        assert answer.startswith(b"HTTP/1.1 408 ")
        assert server.ask("GET", "/healthz")[0] == 200


def test_a_long_body_that_is_refused_unread_does_not_hold_up_the_next_request(folder: Path) -> None:
    with serving(folder, environment={"XMACH_TOKEN": TOKEN}) as server:
        for size, closes in ((100, False), (900_000, True)):
            connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=30)
            connection.request("POST", "/v1/predict", b" " * size, {"content-type": "application/json"})
            response = connection.getresponse()
            assert (response.status, response.will_close) == (401, closes)
            response.read()
            connection.request("GET", "/healthz")  # on the same connection, or a new one
            assert connection.getresponse().read() == b'{"status":"ok"}'
            connection.close()


def test_a_caller_that_is_refused_while_it_sends_can_read_why(folder: Path) -> None:
    head = b"POST /v1/predict HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 900000\r\n\r\n"
    with (
        serving(folder, environment={"XMACH_TOKEN": TOKEN}) as server,
        socket.create_connection(("127.0.0.1", server.port), timeout=30) as slow,
    ):
        slow.sendall(head)
        for _ in range(9):  # the answer is there after the first
            slow.sendall(b" " * 100_000)
            time.sleep(0.05)
        answer = b""
        while part := slow.recv(4000):
            answer += part
        assert answer.startswith(b"HTTP/1.1 401 ")
        assert answer.endswith(b"}")
        with socket.create_connection(("127.0.0.1", server.port), timeout=30) as endless:
            endless.sendall(head)
            with pytest.raises(ConnectionError):
                _send_slowly(endless, 30.0)


def _send_slowly(to: socket.socket, seconds: float) -> None:
    begun = time.monotonic()
    while time.monotonic() - begun < seconds:
        to.sendall(b" ")
        time.sleep(0.05)


def test_what_is_no_http_is_refused(folder: Path) -> None:
    with serving(folder) as server:
        with socket.create_connection(("127.0.0.1", server.port), timeout=30) as other:
            other.sendall(b"\x16\x03\x01 hello\r\n\r\n")
            assert other.recv(1000).startswith(b"HTTP/1.1 400 ")
        assert server.ask("GET", "/healthz")[0] == 200


def command(*arguments: str, environment: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "xmach", *arguments],
        capture_output=True, text=True, timeout=120, check=False, env=os.environ | (environment or {}),
    )  # fmt: skip


def test_the_terminal_asks_a_server_and_a_folder_alike(folder: Path) -> None:
    with serving(folder, environment={"XMACH_TOKEN": TOKEN}) as server:
        address = f"http://127.0.0.1:{server.port}"
        given = {"XMACH_TOKEN": TOKEN}
        remote = command("ask", address, "red lamp", "--k", "3", "--json", environment=given)
        local = command("ask", str(folder), "red lamp", "--k", "3", "--json")
        assert json.loads(remote.stdout)["labels"] == json.loads(local.stdout)["labels"]
        assert json.loads(remote.stdout)["scores"] == pytest.approx(json.loads(local.stdout)["scores"])
        shown = command("ask", address, "red lamp", "--k", "2", environment=given).stdout.splitlines()
        assert [line.split()[0] for line in shown] == ["1", "2"]
        explain = ("red lamp", "--explain", "red lamp")
        told = command("ask", address, *explain, environment=given).stdout
        assert told == command("ask", str(folder), *explain).stdout
        assert told.startswith("red lamp: ")
        unknown = command("ask", str(folder), "red lamp", "--explain", "7")
        assert (unknown.returncode, unknown.stderr.count("\n")) == (2, 1)
        assert "'7' is not a label of this model" in unknown.stderr
        refused = command("ask", address, "red lamp", "--explain", "7", environment=given)
        assert (refused.returncode, "7 is not a label of this model" in refused.stderr) == (2, True)
        denied = command("ask", address, "red lamp")
        assert denied.returncode == 2
        assert "401: a token is needed" in denied.stderr
    gone = command("ask", address, "red lamp")
    assert gone.returncode == 2
    assert "is xmach serve running there?" in gone.stderr


@pytest.mark.parametrize(
    ("labels", "spellings"),
    [
        ([1.0, 2.0, -3.0, 4.0], {"1.0": "1.0", "1": "1.0", "-3.0": "-3.0", "-3": "-3.0"}),
        ([-5, 2, 7, 9], {"-5": "-5", "9": "9"}),
        ([0, 1, 2, 3], {"3": "3"}),
    ],
)
def test_labels_to_explain_are_spelled_as_they_are_printed(
    tmp_path: Path, xmach: Run, labels: list[Any], spellings: dict[str, str]
) -> None:
    texts = ["red lamp", "blue lamp", "red mug", "blue mug"]
    model = MACHClassifier(features="text", n_buckets=3, n_repetitions=3, hidden=(), epochs=1).fit(texts, labels)
    model.save(tmp_path / "model")
    with serving(tmp_path / "model") as server:
        for place in (str(tmp_path / "model"), f"http://127.0.0.1:{server.port}"):
            printed = [line.split()[-1] for line in xmach("ask", place, "red lamp").stdout.splitlines()]
            assert sorted(printed) == sorted(map(str, labels))
            for spelling, label in spellings.items():
                told = xmach("ask", place, "red lamp", "--explain", spelling)
                assert told.stdout.startswith(f"{label}: log score")
            for unknown in ("-4", "77", "lamp", "1.5"):
                said = xmach("ask", place, "red lamp", "--explain", unknown, code=2).stderr
                assert "--explain: " in said
                assert unknown in said


def test_what_cannot_be_served_is_said_in_one_line(folder: Path, tmp_path: Path) -> None:
    nothing = command("serve", str(tmp_path / "none"), "--port", "0")
    assert (nothing.returncode, nothing.stderr.count("\n")) == (3, 1)
    bad = Path(shutil.copytree(folder, tmp_path / "bad"))
    (bad / "repetition-001.safetensors").write_bytes(b"nonsense")
    corrupt = command("serve", str(bad), "--port", "0")
    assert corrupt.returncode == 3
    assert "repetition-001.safetensors: the content does not match the manifest" in corrupt.stderr
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        busy = command("serve", str(folder), "--port", port)
    assert busy.returncode == 2
    assert f"cannot listen at 127.0.0.1:{port}" in busy.stderr
    short = command("serve", str(folder), "--port", "0", environment={"XMACH_TOKEN": "short"})
    assert short.returncode == 2
    assert "a token has at least 16" in short.stderr
