"""A contestant's process under limits of memory and time; what is finished is kept, and not run again."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.places import ROOT
from benchmarks.processes import Stopped, run_within
from xmach.files import atomic_file
from xmach.planning import human_bytes

_LOOK = 1.0  # seconds between looks at a contestant's memory; four a second took a sixth of a core
_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "RAYON_NUM_THREADS")


@dataclass(frozen=True)
class Limits:
    """What a process may use at most; memory is that of the whole process, libraries and data included."""

    memory: int = 20 * 2**30
    seconds: float = 3 * 3600.0

    def within(self, other: Mapping[str, float]) -> bool:
        """Whether these allow no more than others did."""
        return self.memory <= other["memory"] and self.seconds <= other["seconds"]


def run_once(command: Sequence[str], job: dict[str, Any], out: Path, limits: Limits) -> dict[str, Any]:
    """Return what a process wrote to `out`, now or in an earlier run; or `failed`, and why.

    The command is given one more argument: the file of the job, which says where to write (`out`).
    """
    if out.exists():
        known: dict[str, Any] = json.loads(out.read_text(encoding="utf-8"))
        if "failed" not in known or ("limits" in known and limits.within(known["limits"])):
            return known
    with atomic_file(out) as draft:
        result = _ended(command, job | {"out": str(draft)}, out.with_suffix(".job"), limits)
        draft.write_text(json.dumps(result), encoding="utf-8")
    return result


def _ended(command: Sequence[str], job: dict[str, Any], file: Path, limits: Limits) -> dict[str, Any]:
    """Run a process to its end; return what it wrote into the file that the job names, or why it failed."""
    file.write_text(json.dumps(job), encoding="utf-8")
    path = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
    environment = os.environ | dict.fromkeys(_THREADS, "1") | {"PYTHONPATH": path}
    try:
        run_within([*command, str(file)], environment, limits.memory, limits.seconds, _LOOK)
        result: dict[str, Any] = json.loads(Path(job["out"]).read_text(encoding="utf-8"))
    except Stopped as stopped:
        given = {"memory": limits.memory, "seconds": limits.seconds}
        result = {
            "failed": f"{stopped} (limits: {human_bytes(limits.memory)}, {limits.seconds:,.0f} s)",
            "limits": given,
        }
    except subprocess.CalledProcessError as error:  # not kept as an end: what went wrong may be mended
        last = (error.stderr or b"").decode(errors="replace").strip().splitlines()[-1:]
        result = {"failed": f"ended with {error.returncode}: {' '.join(last) or 'it said nothing'}"}
    return result
