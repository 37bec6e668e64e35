"""Logs as JSON lines on standard error: one object a line, times in UTC (RFC 3339)."""

from __future__ import annotations

import json
import logging
import sys
import traceback
from datetime import UTC, datetime

_TELL_SECRETS = ("opentelemetry.util.re",)
"""Loggers that warn of settings by showing them: of headers that hold the key of a collector."""


_TRACE = ("trace_id", "span_id")
"""What a filter may say of a record that belongs to a call which is traced."""


class JsonLines(logging.Formatter):
    """Formats a record as one JSON object.

    An exception is told by its type and place alone: its text may hold what a caller sent. `worker` is the
    number of the process, where several serve as one.
    """

    def __init__(self, worker: int | None = None) -> None:
        super().__init__()
        self._worker = {} if worker is None else {"worker": worker}

    def format(self, record: logging.LogRecord) -> str:
        """Return the line."""
        line: dict[str, object] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            **self._worker,
            "message": record.getMessage(),
        }
        line |= {name: value for name in _TRACE if (value := getattr(record, name, None)) is not None}
        if record.exc_info is not None and record.exc_info[0] is not None:
            frames = traceback.extract_tb(record.exc_info[2])
            line["error"] = record.exc_info[0].__name__
            line["at"] = " < ".join(f"{frame.name}:{frame.lineno}" for frame in reversed(frames))
        return json.dumps(line, ensure_ascii=False)


def log_json_lines(level: int = logging.INFO, *, worker: int | None = None) -> None:
    """Send all logs of the process to standard error as JSON lines, marked with the number of the worker."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines(worker))
    logging.basicConfig(level=level, handlers=[handler], force=True)
    for name in _TELL_SECRETS:
        logging.getLogger(name).setLevel(logging.ERROR)
