"""`xmach index`: store the decoder's tables beside a model."""

from __future__ import annotations

from typing import Annotated

import typer

from xmach.cli.arguments import ModelFolder
from xmach.cli.progress import Meter, say


def index(
    model: ModelFolder,
    threads: Annotated[int | None, typer.Option(help="Threads that build; all cores unless told.")] = None,
    remove: Annotated[bool, typer.Option(help="Remove the tables instead.")] = False,
) -> None:
    """Store the tables by which labels are found, so that processes share them; without them the hash computes them.

    Worth it for models of many labels that answer much: about 6 bytes a label and repetition, mapped into memory.
    """
    from xmach.parameters import whole
    from xmach.planning import human_bytes, usable_cores
    from xmach.store import ModelStore, build_index, index_bytes, remove_index

    threads = usable_cores() if threads is None else whole("--threads", threads, 1)
    store = ModelStore(model)
    hashes = store.plan().hashes
    if remove:
        say(f"{model}: the index is gone" if remove_index(model) else f"{model}: there was no index")
        return
    store.check_tables()  # an index is trusted afterwards
    with Meter("indexing", "cells") as meter:
        place = build_index(model, hashes, threads, meter.update)
    size = human_bytes(index_bytes(hashes))
    say(f"{place}: {size} for {hashes.n_labels:,} labels in {hashes.n_repetitions} repetitions")
