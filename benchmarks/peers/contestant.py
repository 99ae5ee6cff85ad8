"""One contestant in a process of its own: `python -m benchmarks.peers.contestant train|answer JOB.json`.

Says what it did in the file that the job names: the processor's seconds of each part, and the most memory it had above
what it had with its libraries and data loaded; once as a whole, and once without mapped files, whose pages the system
may take back.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from benchmarks.peers.adapter import Peer
    from benchmarks.processes import PrivatePeak


def main(verb: str, job_file: str) -> None:
    """Train and save, or open and answer, as a job says."""
    job = json.loads(Path(job_file).read_text(encoding="utf-8"))
    result = {"train": _train, "answer": _answer}[verb](job, Path(job["folder"]), Path(job["data"]))
    Path(job["out"]).write_text(json.dumps(result), encoding="utf-8")


class _Watch:
    """The seconds of the parts of a run, and its memory above what there was when `begin` was called."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self._before = 0
        self._private: PrivatePeak | None = None

    @contextmanager
    def part(self, name: str) -> Iterator[None]:
        begun = time.process_time()
        yield
        self.seconds[name] = time.process_time() - begun

    def begin(self) -> None:
        from benchmarks.processes import PrivatePeak, forget_high_water, resident

        forget_high_water()
        self._before = resident()
        self._private = PrivatePeak()

    def result(self) -> dict[str, Any]:
        from benchmarks.processes import high_water

        assert self._private is not None  # `begin` was called
        memory = {"memory": high_water() - self._before, "private": self._private.above(), "before": self._before}
        return {"seconds": self.seconds, **memory}


def _warm_peer(job: dict[str, Any], folder: Path) -> Peer:
    from benchmarks.peers.adapter import peer_class

    peer = peer_class(job["peer"])(job["training"], folder)
    peer.warm_up()
    return peer


def _train(job: dict[str, Any], folder: Path, data: Path) -> dict[str, Any]:
    from benchmarks.peers.search_data import Training

    watch = _Watch()
    peer = _warm_peer(job, folder)
    with watch.part("load"):
        training = Training.open(data)
    watch.begin()
    with watch.part("prepare"):
        peer.prepare(training)
    with watch.part("train"):
        peer.train()
    with watch.part("save"):
        facts = peer.save()
    return watch.result() | facts


def _answer(job: dict[str, Any], folder: Path, data: Path) -> dict[str, Any]:
    from benchmarks.peers.judging import DEPTH, candidates_of, judge, judge_ranking, ranked_rows, recalls
    from benchmarks.peers.search_data import Questions

    watch = _Watch()
    peer = _warm_peer(job, folder)
    with watch.part("load"):
        questions = Questions.open(data)
    watch.begin()
    with watch.part("open"):
        peer.open(job["answering"])
    with watch.part("answer"):
        best = peer.top(questions.queries, DEPTH)
    rows = ranked_rows(questions)
    with watch.part("rank"):
        scores = peer.scores([questions.queries[i] for i in rows], candidates_of(questions)) if len(rows) else None
    result = watch.result()  # judging is not the contestant's
    ranking = None if scores is None else judge_ranking(questions, scores)
    each = [round(recall, 4) for recall in recalls(questions, best).tolist()]
    return result | {"matching": judge(questions, best), "ranking": ranking, "recalls": each}


if __name__ == "__main__":
    main(*sys.argv[1:])
