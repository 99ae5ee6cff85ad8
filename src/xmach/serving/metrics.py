"""What Prometheus is told; of all worker processes where there are several."""

from __future__ import annotations

import os

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.multiprocess import MultiProcessCollector

MEDIA_TYPE = "text/plain; version=0.0.4; charset=utf-8"
SHARED = "PROMETHEUS_MULTIPROC_DIR"  # the folder through which processes add up
_SECONDS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0)


class Meters:
    """One application's meters."""

    def __init__(self) -> None:
        self._registry = registry = CollectorRegistry()
        self.requests = Counter("xmach_requests", "Requests answered.", ["path", "status"], registry=registry)
        self.seconds = Histogram(
            "xmach_request_seconds", "From the request's head to the end of the answer.", ["path"],
            buckets=_SECONDS, registry=registry,
        )  # fmt: skip
        self.batch_inputs = Histogram(
            "xmach_batch_inputs", "Inputs answered together.", buckets=(1, 2, 4, 8, 16, 32, 64, 128, 256),
            registry=registry,
        )  # fmt: skip
        self.batch_seconds = Histogram("xmach_batch_seconds", "Answering a batch.", buckets=_SECONDS, registry=registry)
        self.waiting = Gauge(
            "xmach_inputs_waiting", "Inputs taken and not answered yet.", registry=registry,
            multiprocess_mode="livesum",
        )  # fmt: skip
        self.reloads = Counter("xmach_reloads", "New models taken, or refused.", ["result"], registry=registry)

    def exposition(self) -> bytes:
        """All meters in Prometheus' text format."""
        if SHARED not in os.environ:
            return generate_latest(self._registry)
        everybody = CollectorRegistry()
        MultiProcessCollector(everybody)  # type: ignore[no-untyped-call]
        return generate_latest(everybody)
