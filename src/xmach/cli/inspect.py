"""`xmach inspect`: what a model is."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from xmach.cli.arguments import JsonOption, ModelFolder
from xmach.config import AUTO, NONE

if TYPE_CHECKING:
    from xmach.planning import Plan
    from xmach.store import ModelStore


def inspect(model: ModelFolder, as_json: JsonOption = False) -> None:
    """Print a model's K, B, R, learner, sizes, checksums and the repetitions that are there."""
    from xmach.store import ModelStore

    store = ModelStore(model)
    plan, facts = store.plan(), _facts(store)
    if as_json:
        typer.echo(json.dumps(facts))
        return
    for line in _lines(plan, facts):
        typer.echo(line)


def _facts(store: ModelStore) -> dict[str, Any]:
    """What there is to know about a model, as JSON values."""
    from xmach.planning import network_parameters
    from xmach.store.index import FOLDER

    plan, present, manifest = store.plan(), store.present(), store.manifest()
    hashes = plan.hashes
    network = plan.linear is None
    each = network_parameters(plan.n_features, plan.settings.hidden, plan.hashes.n_buckets) if network else 0
    kept = {} if network else {r: int(store.history(r)[-1]["weights"]) for r in present}
    size, tables = _bytes_beside(store.folder, FOLDER)
    return {
        "labels": plan.hashes.n_labels,
        "buckets": plan.hashes.n_buckets,
        "repetitions": plan.hashes.n_repetitions,
        "present": present,
        "complete": manifest is not None,
        "features": plan.n_features,
        "text": plan.features is not None,
        "text_features": plan.features,
        "multilabel": plan.multilabel,
        "learner": plan.learner,
        **({"network": plan.settings.to_dict()} if plan.linear is None else {"linear": plan.linear.to_dict()}),
        "scaling": plan.scaling,
        "seed": plan.seed,
        "bucketing": plan.bucketing,
        "prime": hashes.prime,
        "estimator": None if manifest is None else manifest["estimator"],
        "ranker": plan.ranker,
        "ranking": None if manifest is None else manifest.get("ranking"),
        "parameters": each * plan.hashes.n_repetitions
        if network
        else sum(kept.values()) + hashes.n_buckets * len(kept),
        "bytes": size,
        **({} if network or manifest is not None else {"expected_bytes": _expected_bytes(store)}),
        "index_bytes": tables or None,
        **({"final_losses": {r: store.history(r)[-1]["loss"] for r in present}} if network else {"weights": kept}),
        "files": None if manifest is None else manifest["files"],
    }


def _lines(plan: Plan, facts: dict[str, Any]) -> Iterator[str]:
    """The same in words."""
    from xmach.buckets import LearnedBuckets
    from xmach.planning import human_bytes

    hashes, linear, present = plan.hashes, plan.linear, facts["present"]
    hidden = plan.settings.hidden if linear is None else ()
    shape = "-".join(str(width) for width in (plan.n_features, *hidden, hashes.n_buckets))
    yield f"labels        {facts['labels']:,}{' (multilabel)' if plan.multilabel else ''}"
    tables = len(hashes.tables) if isinstance(hashes, LearnedBuckets) else 0
    learned = f"; clusters of like labels in {tables} repetitions" if tables else ""
    yield f"buckets       {hashes.n_buckets:,}, hash ((a x + b) mod {hashes.prime}) mod {hashes.n_buckets}{learned}"
    unfinished = "" if facts["complete"] else ", no manifest yet"
    yield f"repetitions   {len(present)} of {hashes.n_repetitions} there{unfinished}"
    if linear is None:
        each = facts["parameters"] // hashes.n_repetitions
        yield f"network       {shape}, {plan.settings.loss}, {each:,} parameters a repetition"
    else:
        kept = facts["weights"]
        stored = f"{sum(kept.values()) // max(1, len(kept)):,} weights of {linear.store_bits} bits a repetition"
        cost = "" if linear.cost == AUTO else f"cost {linear.cost:g}, "  # softmax has none
        yield f"linear        {shape}, {linear.linear_loss}, {cost}{linear.passes} passes, {stored}"
    yield f"input         {_text(plan.features)}scaling {plan.scaling}, seed {plan.seed}"
    yield f"estimator     {facts['estimator'] or 'not chosen yet'}"
    yield f"ranker        {_ranker(plan.ranker, facts)}"
    expected = facts.get("expected_bytes")
    whole = f", about {human_bytes(expected)} when complete" if expected else ""
    yield f"size          {human_bytes(facts['bytes'])}{whole}"
    index = facts["index_bytes"]
    yield f"index         {f'{human_bytes(index)}, beside the model' if index else 'none'}"
    for name, entry in (facts["files"] or {}).items():
        yield f"  {name:32} {human_bytes(entry['bytes']):>12}  sha256 {entry['sha256'][:16]}"


def _ranker(kind: str, facts: dict[str, Any]) -> str:
    """What ranks the shortlist again, in words."""
    ranking = facts["ranking"]
    if ranking is None:
        if kind == NONE:
            return kind
        left_out = "left out: it did not help on held-out rows, or there were too few of them"
        return f"{kind}, {left_out if facts['complete'] else 'not trained yet'}"
    used = ranking["fusion"]["weights"]
    weights = ", ".join(f"{name} {weight:.3g}" for name, weight in used.items())
    cost = f"cost {ranking['cost']:g}, " if "ranker" in used else ""
    return f"{kind}, {cost}weights {weights}"


def _expected_bytes(store: ModelStore) -> int | None:
    """The size of all repetitions, by those that are there; None if none is."""
    sizes = [store.path(r).stat().st_size for r in store.present()]
    return round(store.plan().hashes.n_repetitions * sum(sizes) / len(sizes)) if sizes else None


def _text(settings: dict[str, Any] | None) -> str:
    """What makes rows of texts, in words."""
    if settings is None:
        return ""
    values = ", ones" if settings.get("binary") else ""
    if "vocabulary" not in settings:
        return f"text{values}, "
    slots = ", ".join(f"{settings[kind]:,} {kind}" for kind in ("words", "bigrams", "trigrams"))
    return f"text{values}, a vocabulary of up to {slots}, {settings['unknown']:,} slots for others, "


def _bytes_beside(model: Path, folder: str) -> tuple[int, int]:
    """The bytes of a model's files, and of those in a folder that does not belong to it; without half-written files."""
    sizes = {path.relative_to(model): path.stat().st_size for path in model.rglob("*") if path.is_file()}
    apart = sum(size for path, size in sizes.items() if path.parts[0] == folder)
    return sum(size for path, size in sizes.items() if not path.parts[0].startswith(".")) - apart, apart
