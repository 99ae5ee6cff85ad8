"""Pages of mapped files: read one by one while few are asked for, and the answers are the same either way."""

from __future__ import annotations

import mmap
import pickle
from pathlib import Path

import numpy as np
import pytest

from xmach import load
from xmach.config import MachConfig
from xmach.data import Dataset
from xmach.features import fit_scaler
from xmach.models import NetworkModel
from xmach.models.pages import READ_AROUND, FirstLayers, Region
from xmach.predictor import Predictor
from xmach.store import ModelStore
from xmach.training.job import plan_training
from xmach.types import FloatArray, SparseRows

SMAPS = Path("/proc/self/smaps")
LABELS, HIDDEN, BUCKETS = 30, 64, 32
FEATURES = 40 * READ_AROUND // (4 * HIDDEN)  # a first layer of forty times what one page reads with its neighbours
PAGE = mmap.PAGESIZE


def sparse_rows(n_rows: int, each: int) -> SparseRows:
    columns = np.concatenate([np.arange(each) * (FEATURES // each) + row for row in range(n_rows)])
    return SparseRows(
        np.arange(n_rows + 1) * each, columns.astype(np.int32), np.ones(n_rows * each, np.float32), FEATURES
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model of two repetitions whose first layers take megabytes each."""
    store, draw = ModelStore(tmp_path_factory.mktemp("pages") / "model"), np.random.default_rng(0)
    labels = SparseRows(np.arange(LABELS + 1), np.arange(LABELS, dtype=np.int32), np.ones(LABELS, np.float32), LABELS)
    data = Dataset(sparse_rows(LABELS, 3), labels)
    scaler = fit_scaler(data.features, "none")
    job = plan_training(data, MachConfig(n_buckets=BUCKETS, n_repetitions=2, hidden=(HIDDEN,)), scaler)
    store.begin(job.plan, data.label_counts(), None, job.scaler)
    for r in range(2):
        weights = tuple(draw.standard_normal(s, np.float32) for s in ((FEATURES, HIDDEN), (HIDDEN, BUCKETS)))
        store.put(r, NetworkModel(weights, (np.zeros(HIDDEN, np.float32), np.zeros(BUCKETS, np.float32)), "bce"), [])
    store.finish("log", None, {})
    return store.folder


@pytest.fixture
def predictor(folder: Path) -> Predictor:
    return load(folder, verify=False)


def flags_at(address: int) -> list[str]:
    """What Linux was told of the pages at an address; `rr` is: they are asked for at random."""
    inside = False
    for line in SMAPS.read_text().splitlines():
        words = line.split()
        if not words[0].endswith(":"):
            start, stop = (int(place, 16) for place in words[0].split("-"))
            inside = start <= address < stop
        elif inside and words[0] == "VmFlags:":
            return words[1:]
    raise AssertionError(f"nothing is mapped at {address:x}")


def is_scattered(layer: FloatArray) -> bool:
    begin = layer.ctypes.data
    found = {"rr" in flags_at(begin + at) for at in (PAGE, layer.nbytes // 2, layer.nbytes - PAGE - 1)}
    assert len(found) == 1, "one layer, one advice"
    return found.pop()


needs_smaps = pytest.mark.skipif(not SMAPS.exists(), reason="only Linux tells what advice it was given")


@needs_smaps
def test_only_first_layers_are_read_page_by_page(predictor: Predictor) -> None:
    for model in predictor.models:
        assert isinstance(model, NetworkModel)
        assert is_scattered(model.weights[0])
        assert "rr" not in flags_at(model.weights[1].ctypes.data + model.weights[1].nbytes - 1)


@needs_smaps
@pytest.mark.parametrize(
    ("rows", "scattered"),
    [
        (sparse_rows(1, 30), True),
        (sparse_rows(1, 50), False),
        (sparse_rows(20, 2), False),
        (np.zeros((1, FEATURES), np.float32), False),
    ],
    ids=["a row", "a long row", "a batch", "a dense row"],
)
def test_neighbours_are_read_where_a_layer_is_read_as_a_whole(
    predictor: Predictor, rows: SparseRows | FloatArray, scattered: bool
) -> None:
    predictor.top_k(rows, 3)
    for model in predictor.models:
        assert isinstance(model, NetworkModel)
        assert is_scattered(model.weights[0]) == scattered


@needs_smaps
def test_row_after_row_is_a_batch_in_the_end(predictor: Predictor) -> None:
    told = []
    for row in range(5):
        predictor.top_k(sparse_rows(5, 10).slice(row, row + 1), 3)
        told.append(is_scattered(predictor.models[0].arrays()["weights.0"]))
    assert told == [True, True, True, False, False]


class Memory:
    """Takes down what a map was advised."""

    def __init__(self) -> None:
        self.advice: list[tuple[int, int, int]] = []

    def madvise(self, *advice: int) -> None:
        self.advice.append(advice)  # type: ignore[arg-type]


def test_pages_shared_with_neighbours_in_the_file_are_left_alone() -> None:
    memory = Memory()
    Region(memory, PAGE - 8, 4 * PAGE + 8).advise("MADV_RANDOM")  # type: ignore[arg-type]
    Region(memory, 8, PAGE + 8).advise("MADV_RANDOM")  # type: ignore[arg-type]  # no page is wholly its own
    assert memory.advice == [(mmap.MADV_RANDOM, PAGE, 3 * PAGE)]


def test_a_system_that_takes_no_advice_answers_the_same(
    folder: Path, predictor: Predictor, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = predictor.top_k(sparse_rows(20, 3), 5)
    for name in ("MADV_RANDOM", "MADV_NORMAL"):
        monkeypatch.delattr(mmap, name)
    found = load(folder, verify=False).top_k(sparse_rows(20, 3), 5)
    np.testing.assert_array_equal(found.ids, expected.ids)
    np.testing.assert_array_equal(found.scores, expected.scores)


def test_advice_that_is_refused_is_no_error() -> None:
    class Refusing:
        def madvise(self, *advice: int) -> None:
            raise OSError(22, "Invalid argument")

    layers = FirstLayers([Region(Refusing(), 0, 64 * PAGE)])  # type: ignore[arg-type]
    layers.expect(np.zeros((1, 4), np.float32))
    assert not layers.scattered


def test_a_predictor_that_travels_leaves_the_files_behind(predictor: Predictor) -> None:
    copy = pickle.loads(pickle.dumps(predictor))
    assert copy.pages is None
    np.testing.assert_array_equal(copy.top_k(sparse_rows(3, 3), 5).ids, predictor.top_k(sparse_rows(3, 3), 5).ids)
