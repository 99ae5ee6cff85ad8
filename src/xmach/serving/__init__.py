"""An HTTP service of a model folder, and a search page: `xmach serve`."""

from xmach.serving.settings import Settings

__all__ = ["Settings"]
