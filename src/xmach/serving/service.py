"""One process' service: the model, the queue before it, the meters; and whether it is about to end."""

from __future__ import annotations

from xmach.serving.batching import Batcher
from xmach.serving.keeping import Keeper
from xmach.serving.metrics import Meters
from xmach.serving.model import Served
from xmach.serving.settings import Settings

ASKED = ("/v1/predict", "/v1/explain")  # where the model is asked


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
            lambda: self.keeper.served, self.meters, settings.batch_size, settings.batch_wait, settings.queue
        )
        return self.batcher

    def admit(self) -> bool:
        """Whether one more request is taken; whoever was admitted is to be released."""
        if self.batcher is None or self.batcher.active >= self.settings.queue:
            return False
        self.batcher.active += 1
        return True

    def release(self) -> None:
        """A request that was admitted is over."""
        assert self.batcher is not None
        self.batcher.active -= 1
