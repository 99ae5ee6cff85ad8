"""The model that answers now, and taking a new one in its place without losing a request."""

from __future__ import annotations

import asyncio
import logging
import time
from pathlib import Path

from xmach.errors import XmachError
from xmach.serving.metrics import Meters
from xmach.serving.model import Served, version_of
from xmach.serving.settings import Settings

_log = logging.getLogger("xmach.serving")
_SOON, _LONGEST_PAUSE = 5.0, 60.0  # seconds between two tries of a folder that is bad


class Keeper:
    """Holds the served model; looks whether the folder has become another one."""

    def __init__(self, settings: Settings, served: Served, meters: Meters) -> None:
        self._settings, self._meters = settings, meters
        self.served = served
        self._seen = self._stamp()

    async def watch(self) -> None:
        """Look again and again; what cannot be used is told, and tried again later: it may be half copied."""
        refused, stamp_then, pause, again = "", None, _SOON, 0.0
        while self._settings.watch > 0:
            await asyncio.sleep(self._settings.watch)
            stamp = self._stamp()
            waiting = stamp == stamp_then and time.monotonic() < again
            if stamp == self._seen or stamp is None or waiting:
                continue
            reason = await asyncio.to_thread(self._take)
            if reason is None:
                self._seen, refused, stamp_then = stamp, "", None
                continue
            if reason != refused:
                _log.error("the new model is refused, the old one goes on", extra={"reason": reason})
                self._meters.reloads.labels("refused").inc()
            pause = _SOON if stamp != stamp_then else min(_LONGEST_PAUSE, 2 * pause)
            refused, stamp_then, again = reason, stamp, time.monotonic() + pause

    def _take(self) -> str | None:
        """Load the folder as it is now and let it answer; the reason where that fails."""
        folder = self._settings.folder
        try:
            if version_of(folder.resolve()) == self.served.version:
                return None
            served = Served.open(folder, self._settings.verify, self._settings.examples)
        except (XmachError, OSError, ValueError) as error:
            return " ".join(str(error).split())
        except Exception as error:  # whatever is wrong with a new model must not end the old one
            return f"{type(error).__name__}: {' '.join(str(error).split())}"
        before, self.served = self.served.version, served
        _log.info("a new model answers", extra={"model": served.version, "before": before})
        self._meters.reloads.labels("taken").inc()
        return None

    def _stamp(self) -> tuple[str, int, int, int] | None:
        """What changes when the folder becomes another model: which it is, and its manifest; None without one."""
        try:
            folder = Path(self._settings.folder).resolve()
            about = (folder / "manifest.json").stat()
        except OSError:
            return None
        return str(folder), about.st_ino, about.st_mtime_ns, about.st_size
