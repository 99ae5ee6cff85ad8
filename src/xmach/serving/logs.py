"""Structured logs on stderr: a JSON object a line, or plain words on a terminal. Never a text, a label or a token."""

from __future__ import annotations

import json
import logging
import sys
from datetime import UTC, datetime

_PLAIN = {*vars(logging.makeLogRecord({})), "message", "asctime", "color_message", "taskName"}


class JsonLines(logging.Formatter):
    """One JSON object a record: time, level, event, and whatever was given beside."""

    def format(self, record: logging.LogRecord) -> str:
        """The record as JSON."""
        fields = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "event": record.getMessage(),
            **_given(record),
        }
        if record.exc_info:
            fields["traceback"] = self.formatException(record.exc_info)
        return json.dumps(fields, ensure_ascii=False, default=str)


class Words(logging.Formatter):
    """The same for people."""

    def format(self, record: logging.LogRecord) -> str:
        """The record as a line."""
        clock = datetime.fromtimestamp(record.created).strftime("%H:%M:%S")
        given = " ".join(f"{name}={value}" for name, value in _given(record).items())
        trace = "\n" + self.formatException(record.exc_info) if record.exc_info else ""
        return f"{clock} {record.getMessage()} {given}".rstrip() + trace


def _given(record: logging.LogRecord) -> dict[str, object]:
    return {name: value for name, value in vars(record).items() if name not in _PLAIN}


def set_up() -> None:
    """Send the service's records, and what its HTTP library has to say, to stderr."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(Words() if sys.stderr.isatty() else JsonLines())
    for name, level in (("xmach.serving", logging.INFO), ("uvicorn.error", logging.WARNING)):
        logger = logging.getLogger(name)
        logger.handlers, logger.propagate = [handler], False
        logger.setLevel(level)
