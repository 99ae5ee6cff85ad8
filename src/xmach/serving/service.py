"""One process' service: the model, the queue before it, the meters; and whether it is about to end."""

from __future__ import annotations

from xmach.planning import usable_cores
from xmach.serving.batching import Batcher
from xmach.serving.keeping import Keeper
from xmach.serving.metrics import Meters
from xmach.serving.model import Served
from xmach.serving.settings import Settings


class Service:
    """What the application's routes share."""

    def __init__(self, settings: Settings, served: Served) -> None:
        self.settings = settings
        self.meters = Meters()
        self.keeper = Keeper(settings, served, self.meters)
        self.batcher: Batcher | None = None  # while the application runs
        self.draining = False

    def start(self) -> Batcher:
        """Begin to answer."""
        settings = self.settings
        self.batcher = Batcher(
            lambda: self.keeper.served,
            self.meters,
            settings.batch_size,
            settings.batch_wait,
            settings.queue,
            max(1, usable_cores() // settings.workers),
        )
        return self.batcher

    @property
    def full(self) -> bool:
        """Whether requests are refused unread."""
        return self.batcher is None or self.batcher.full
