"""What xmach writes, one entry each: the state before, the write itself, and what a reader finds.

Run as a program it forks a process for each write that is to be killed: a line of JSON in, the id and later the exit
code of the process out.
"""

from __future__ import annotations

import hashlib
import json
import os
import pickle
import shutil
import signal
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import scipy.sparse as sp

from xmach import MACHClassifier, load
from xmach.data import Dataset, add_label_texts, read_label_texts
from xmach.data.merging import merge_rows
from xmach.data.read.reading import read_dataset
from xmach.data.write.predictions import open_answers
from xmach.errors import ModelIncomplete, ModelMissing
from xmach.executors import Board
from xmach.features import HashedText
from xmach.files import is_temporary, scratch_folder
from xmach.ranking import Fusion, LabelWeights, Profiles, Ranking, profile_part, rows_of_labels
from xmach.ranking.label_training import RankerSettings, train_labels
from xmach.store import ModelStore, build_index, open_index
from xmach.types import SparseRows, TopK

ROWS = "3 10 5\n0,1 0:1.0 3:2.0\n2 1:0.5 4:1\n4 2:1\n"


@dataclass(frozen=True)
class Write:
    """`before` makes a folder, `write` changes it; `read` tells which of the two states a reader finds."""

    before: Callable[[Path], object]
    write: Callable[[Path], object]
    read: Callable[[Path], str]


def fitted(seed: int) -> MACHClassifier:
    """A model of a few rows with names and scaling, so that every kind of file is written."""
    rng = np.random.default_rng(seed)
    names = np.array(["red", "green", "blue", "grey"])
    model = MACHClassifier(n_buckets=2, n_repetitions=2, hidden=(3,), epochs=1, scaling="tfidf", random_state=seed)
    return model.fit(sp.csr_matrix(rng.integers(0, 3, (40, 6))), names[rng.integers(0, 4, 40)])


def _keep(folder: Path, *models: MACHClassifier) -> None:
    """Leave fitted models where the process that is killed finds them."""
    for number, model in enumerate(models):
        (folder / f"fitted-{number}").write_bytes(pickle.dumps(model))


def _fitted(folder: Path, number: int) -> MACHClassifier:
    model: MACHClassifier = pickle.loads((folder / f"fitted-{number}").read_bytes())
    return model


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest() if path.exists() else "nothing"


# --- model


def _a_model(folder: Path) -> None:
    _keep(folder, fitted(0), fitted(1))
    _fitted(folder, 0).save(folder / "model")


def _new_model(folder: Path) -> None:
    _keep(folder, fitted(0))


def _save(folder: Path) -> None:
    _fitted(folder, 0).save(folder / "model", overwrite=(folder / "model").exists())


def _read_model(folder: Path) -> str:
    """A model that a reader finds is whole."""
    try:
        load(folder / "model")
    except (ModelMissing, ModelIncomplete):
        return "nothing"
    return _digest(folder / "model" / "manifest.json")


def _train(folder: Path) -> None:
    """As training writes a model: into its place, resuming what is there."""
    model, store = _fitted(folder, 0), ModelStore(folder / "model")
    predictor: Any = model._fitted()
    store.begin(model._plan, predictor.label_counts, predictor.label_names, predictor.scaler)
    for r, trained in enumerate(predictor.models):
        store.save_progress(r, {"state": np.arange(5)})
        store.put(r, trained, [{"loss": 0.5}])
    store.finish("log", None, {})


def _new_linear_model(folder: Path) -> None:
    rng = np.random.default_rng(0)
    model = MACHClassifier(n_buckets=2, n_repetitions=2, learner="linear", cost=1.0, passes=2)
    _keep(folder, model.fit(sp.csr_matrix(rng.integers(0, 3, (40, 6))), rng.integers(0, 4, 40)))


def _train_parts(folder: Path) -> None:
    """As linear buckets are trained: each repetition in parts, which are removed when it is put."""
    model, store = _fitted(folder, 0), ModelStore(folder / "model")
    predictor: Any = model._fitted()
    store.begin(model._plan, predictor.label_counts, predictor.label_names, predictor.scaler)
    assert store.drop_damaged_parts([1, 1]) == []
    for r, trained in enumerate(predictor.models):
        for part in range(2):
            if not store.has(r) and store.load_part(r, part) is None:
                store.put_part(r, part, {"biases": np.zeros(1, np.float32)})
        store.put(r, trained, [{"weights": 5.0}])
    store.finish("log", None, {})


def _new_ranked_model(folder: Path) -> None:
    """A model with every part of a ranker, whatever held-out rows would say about them."""
    rng = np.random.default_rng(0)
    X, y = sp.csr_matrix(rng.integers(0, 3, (40, 6))), rng.integers(0, 4, 40)
    settings: dict[str, Any] = {"n_buckets": 2, "n_repetitions": 2, "cost": 1.0, "passes": 2}
    model = MACHClassifier(learner="linear", ranker="linear", validation=(X, y), **settings).fit(X, y)
    rows = SparseRows(np.arange(5), np.arange(4, dtype=np.int32), np.ones(4, np.float32), 6)
    profiles = Profiles.join([profile_part(rows, rows_of_labels(_identity(4), 0, 4))], 6, 4)
    own, wrong = (rows_of_labels(_identity(4, shift), 0, 4) for shift in (0, 1))
    ranker = LabelWeights.join([train_labels(rows, own, wrong, RankerSettings(), 0)], 6, 4)
    fusion = Fusion({"mach": 1.0, "ranker": 1.0, "profile": 1.0, "text": 1.0})
    ranking = Ranking(fusion, np.ones(4, np.float32), profiles, profiles, ranker)
    model.predictor_ = replace(model.predictor_, ranking=ranking)
    _keep(folder, model)


def _identity(size: int, shift: int = 0) -> SparseRows:
    """Row i has the label i + shift."""
    labels = np.roll(np.arange(size, dtype=np.int32), shift)
    return SparseRows(np.arange(size + 1), labels, np.ones(size, np.float32), size)


def _train_ranker(folder: Path) -> None:
    """As a ranker is trained: a trial model and shards, which are removed when the model is finished."""
    model, store = _fitted(folder, 0), ModelStore(folder / "model")
    predictor: Any = model._fitted()
    every = (model._plan, predictor.label_counts, predictor.label_names, predictor.scaler)
    store.begin(*every)
    assert store.drop_damaged_pieces() == []
    for r, trained in enumerate(predictor.models):
        store.put(r, trained, [{"weights": 5.0}])
    if store.manifest() is not None:
        store.clean()
        return
    trial = ModelStore(store.trial_folder())
    trial.begin(*every)
    for r, trained in enumerate(predictor.models):
        trial.put(r, trained, [{"weights": 5.0}])
    for each in (trial, store):
        for name in ("profiles", "shortlists", "classifiers"):
            if not each.has_piece(name):
                each.put_piece(name, {"starts": np.zeros(1, np.int64)})
            each.piece(name)
        each.finish("log", None, {}, predictor.ranking)


# --- the rest


def _read_cache(folder: Path) -> str:
    """Whatever has a name of its own in the cache is a dataset."""
    cached = [path for path in folder.glob("cache/*") if not is_temporary(path)]
    return ", ".join(Dataset.open(path).fingerprint for path in cached) or "nothing"


def _merge(folder: Path) -> Dataset:
    return merge_rows(read_dataset(folder / "rows.txt"), cache=folder / "cache")


def _a_damaged_cache(folder: Path) -> None:
    _rows(folder)
    cached = _merge(folder).folder
    assert cached is not None
    (cached / "meta.json").unlink()


def _read_damaged_cache(folder: Path) -> str:
    (cached,) = (path for path in folder.glob("cache/*") if not is_temporary(path))
    return Dataset.open(cached).fingerprint if (cached / "meta.json").exists() else "damaged"


def _titles(folder: Path) -> None:
    (folder / "titles.csv").write_text("label,text\nb,red shoe\na,iron pan\nc,\n")
    read_label_texts(folder / "titles.csv", HashedText(64), cache=folder / "cache")


def _order_texts(folder: Path) -> None:
    texts = read_label_texts(folder / "titles.csv", HashedText(64), cache=folder / "cache")
    rows = Dataset(texts.features, texts.labels, ("c", "b", "a"))
    add_label_texts(rows, texts, folder / "cache")


def _read_ordered_texts(folder: Path) -> str:
    found = [path for path in folder.glob("cache/label-texts-*") if not is_temporary(path)]
    return ", ".join(Dataset.open(path).fingerprint for path in found) or "nothing"


def _index(folder: Path) -> None:
    build_index(folder / "model", ModelStore(folder / "model").plan().hashes)


def _an_index(folder: Path) -> None:
    _a_model(folder)
    _index(folder)


def _read_index(folder: Path) -> str:
    found = open_index(folder / "model", ModelStore(folder / "model").plan().hashes)
    return "nothing" if found is None else "an index"


def _predictions(name: str) -> Callable[[Path], None]:
    def write(folder: Path) -> None:
        with open_answers(folder / name) as answers:
            for start in range(0, 3000, 1500):
                ids = np.arange(1500 * 3).reshape(1500, 3)
                answers.write(range(start, start + 1500), TopK(ids, np.ones(ids.shape, np.float32), ids))

    return write


def _add_evaluation(folder: Path) -> None:
    ModelStore(folder / "model").add_evaluation({"metrics": {"precision@1": 0.5}})


def _an_evaluation(folder: Path) -> None:
    _a_model(folder)
    _add_evaluation(folder)


def _read_evaluations(folder: Path) -> str:
    return f"{len(ModelStore(folder / 'model').evaluations())} evaluations"


def _share_rows(folder: Path) -> None:
    """As `fit` does it with several workers."""
    board = Board.for_repetitions([0, 1])
    with scratch_folder() as scratch:
        read_dataset(folder / "rows.txt").save(scratch / "data")
    board.close()


def _rows(folder: Path) -> None:
    (folder / "rows.txt").write_text(ROWS)


WRITES = {
    "model": Write(_a_model, lambda folder: _fitted(folder, 1).save(folder / "model", overwrite=True), _read_model),
    "new model": Write(_new_model, _save, _read_model),
    "training": Write(_new_model, _train, _read_model),
    "training in parts": Write(_new_linear_model, _train_parts, _read_model),
    "training with a ranker": Write(_new_ranked_model, _train_ranker, _read_model),
    "cache": Write(_rows, lambda folder: read_dataset(folder / "rows.txt", cache=folder / "cache"), _read_cache),
    "damaged cache": Write(_a_damaged_cache, _merge, _read_damaged_cache),
    "label texts": Write(_titles, _order_texts, _read_ordered_texts),
    "index": Write(_a_model, _index, _read_index),
    "index again": Write(_an_index, _index, _read_index),
    "predictions": Write(
        lambda folder: (folder / "answers.jsonl").write_text("old"),
        _predictions("answers.jsonl"),
        lambda folder: _digest(folder / "answers.jsonl"),
    ),
    "predictions in Parquet": Write(
        lambda folder: (folder / "answers.parquet").write_text("old"),
        _predictions("answers.parquet"),
        lambda folder: _digest(folder / "answers.parquet"),
    ),
    "metrics": Write(_an_evaluation, _add_evaluation, _read_evaluations),
    "shared rows": Write(_rows, _share_rows, lambda folder: "nothing"),
}


# --- the processes that are killed

_CHANGES = {"os.mkdir", "os.rename", "os.link", "os.remove", "os.rmdir", "os.chmod", "os.truncate"}


def is_change(event: str, arguments: tuple[Any, ...]) -> bool:
    """Whether an audit event of Python tells of a change that is about to be made to the disk."""
    if event == "open":  # path, mode, flags
        return bool(arguments[2] & (os.O_WRONLY | os.O_RDWR | os.O_CREAT))
    return event in _CHANGES or (event == "ctypes.dlsym" and arguments[1] == "renameat2")


def write_until(step: int, write: Callable[[Path], object], folder: Path) -> NoReturn:
    """Write, and kill this process just before it makes its change number `step` to the disk."""
    done = 0

    def count(event: str, arguments: tuple[Any, ...]) -> None:
        nonlocal done
        if is_change(event, arguments):
            done += 1
            if done == step:
                os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(count)
    write(folder)
    os._exit(0)


def serve() -> None:
    """Fork for each request: [name, folder, scratch folder, step], or no step to write again and again."""
    for line in sys.stdin:
        name, folder, scratch, step = json.loads(line)
        child = os.fork()
        if child == 0:
            tempfile.tempdir = scratch
            if step is not None:
                write_until(step, WRITES[name].write, Path(folder))
            while True:
                WRITES[name].write(Path(folder))
        print(child, flush=True)
        _, status = os.waitpid(child, 0)
        print(os.waitstatus_to_exitcode(status), flush=True)


if __name__ == "__main__":
    with scratch_folder("warm-up") as warm:  # compiled kernels are loaded once, not in every fork
        for each, what in WRITES.items():
            shutil.copytree(Path(sys.argv[1], each), warm / each)
            what.write(warm / each)
    serve()
