"""A model folder in place of another, at once."""

from __future__ import annotations

import os
import shutil
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from xmach.errors import PlanMismatch
from xmach.store.folder import PLAN
from xmach.store.model import ModelStore


@contextmanager
def replacing(folder: Path, overwrite: bool) -> Iterator[ModelStore]:
    """A store beside the folder that takes its name when the block is over: no reader sees half a model.

    A model that is there already is replaced only with `overwrite`; a folder that is no model, never.
    """
    if folder.exists() and not ((folder / PLAN).exists() if overwrite else ModelStore(folder).is_free()):
        advice = "there is a model here already" if (folder / PLAN).exists() else "this is no model folder"
        raise PlanMismatch(f"{folder}: {advice}; save into another folder, or replace a model with overwrite=True")
    folder = folder.absolute()
    aside = folder.with_name(f".{folder.name}.{uuid.uuid4().hex}.part")
    try:
        yield ModelStore(aside / "new")
        if folder.exists():
            os.rename(folder, aside / "old")
        os.rename(aside / "new", folder)
    finally:
        if (aside / "old").exists() and not folder.exists():  # interrupted between the two renames
            os.rename(aside / "old", folder)
        shutil.rmtree(aside, ignore_errors=True)
