"""Linear buckets in a model folder: what is written, and what damaged files say. A damaged byte never crashes."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.store.test_store import GOLDEN

from xmach import MACHClassifier, Predictor, load
from xmach.errors import InputError, ModelCorrupt, ModelError, ModelIncomplete
from xmach.models import LinearModel
from xmach.store import ModelStore
from xmach.store.tensors import read_tensors, write_tensors

TEXTS = json.loads((GOLDEN / "format-5" / "answers.json").read_text())["texts"]
FILES = sorted(str(path.relative_to(GOLDEN / "format-5" / "model")) for path in GOLDEN.glob("format-5/model/**/*.*"))

LABELS = "labels.arrow"


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """A copy that a test may damage."""
    return Path(shutil.copytree(GOLDEN / "format-5" / "model", tmp_path / "model"))


@pytest.fixture
def tiny(tmp_path: Path) -> Path:
    """A model whose repetition is a file of 1 KB."""
    clf = MACHClassifier(n_buckets=3, n_repetitions=1, learner="linear", cost=1.0, passes=3)
    clf.fit(np.repeat(np.eye(4), 5, axis=0), np.repeat(np.arange(4), 5)).save(tmp_path / "tiny")
    return tmp_path / "tiny"


def changed(folder: Path, **arrays: Any) -> Path:
    """The folder, without a manifest, with other arrays in its second repetition; their checksum is right."""
    path = folder / "repetition-001.safetensors"
    kept, about = read_tensors(path, verify=True)
    every = {name: np.array(array) for name, array in kept.items()} | arrays
    write_tensors(path, {name: array for name, array in every.items() if array is not None}, about)
    (folder / "manifest.json").unlink()
    return folder


def array_of(folder: Path, name: str) -> Any:
    return np.array(read_tensors(folder / "repetition-001.safetensors", verify=True)[0][name])


def test_every_file_is_in_the_manifest(model: Path) -> None:
    listed = json.loads((model / "manifest.json").read_text())["files"]
    assert set(listed) == set(FILES) - {"manifest.json"}
    assert len([name for name in listed if name.startswith("repetition-")]) == 3


def test_arrays_are_memory_mapped_and_read_only(model: Path) -> None:
    for each in load(model).models:
        assert isinstance(each, LinearModel)
        assert not any(array.flags.writeable or array.flags.owndata for array in each.arrays().values())


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("share", [0.0, 0.5, 0.99])
def test_a_flipped_bit_is_found(model: Path, name: str, share: float) -> None:
    content = bytearray((model / name).read_bytes())
    content[int(share * len(content))] ^= 1
    (model / name).write_bytes(content)
    with pytest.raises(ModelCorrupt, match=name.split("/")[-1] if name != "manifest.json" else "manifest|the content"):
        load(model)


@pytest.mark.parametrize("name", [name for name in FILES if name != "manifest.json"])
def test_a_file_cut_off_is_found(model: Path, name: str) -> None:
    content = (model / name).read_bytes()
    (model / name).write_bytes(content[: len(content) // 2])
    with pytest.raises(ModelCorrupt, match=name.split("/")[-1]):
        load(model)


def test_a_missing_repetition_is_said(model: Path) -> None:
    (model / "repetition-001.safetensors").unlink()
    with pytest.raises(ModelIncomplete, match=r"1 of 3 repetitions are missing \(1\)"):
        load(model)
    assert len(load(model, allow_partial=True).models) == 2


def test_damaged_gaps_are_found_without_checksums(model: Path) -> None:
    gaps = array_of(model, "gaps")
    gaps[3] = 200  # beyond the 4 buckets
    for verify in (False, True):
        shutil.copytree(model, model.parent / f"copy {verify}")
        folder = changed(model.parent / f"copy {verify}", gaps=gaps)
        with pytest.raises(ModelCorrupt, match=r"repetition-001.* not linear buckets \(the weights of feature \d+ of "):
            load(folder, verify=verify, allow_partial=True)


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"codes": None}, "lacks the array 'codes'"),
        ({"starts": np.zeros(0, np.uint32)}, "no starts or no scales"),
        ({"starts": np.zeros(257, np.int8)}, "must be 1-D uint32 or int64"),
        ({"starts": np.zeros(9, np.uint32)}, "damaged"),
        ({"scales": np.full(4, np.nan, np.float32)}, "'scales' of the linear model has numbers"),
        ({"biases": np.full(4, np.inf, np.float32)}, "'biases' of the linear model has numbers"),
        ({"biases": np.zeros(5, np.float32)}, "4 scales, but 5 biases"),
        (
            {"scales": np.ones(6, np.float32), "biases": np.zeros(6, np.float32)},
            r"not those of the plan, \(256, 4\)",
        ),
    ],
)
def test_arrays_of_another_model_are_said(model: Path, arrays: dict[str, Any], message: str) -> None:
    with pytest.raises(ModelCorrupt, match=rf"repetition-001.*{message}"):
        load(changed(model, **arrays), verify=False, allow_partial=True)


@pytest.mark.parametrize("facts", [{"loss": "relu"}, {"loss": None}, {"normalised": None}])
def test_facts_of_another_kind_of_model_are_said(model: Path, facts: dict[str, Any]) -> None:
    path = model / "repetition-001.safetensors"
    arrays, about = read_tensors(path, verify=True)
    about = {name: value for name, value in (about | facts).items() if value is not None}
    write_tensors(path, arrays, about)
    with pytest.raises(ModelCorrupt, match="repetition-001"):
        load(model, verify=False)


@pytest.mark.parametrize(
    "arrays",
    [{"idf": np.ones(255, np.float32)}, {"idf": np.full(256, np.nan, np.float32)}, {"ide": np.ones(256, np.float32)}],
    ids=["short", "not finite", "another name"],
)
def test_damaged_idf_is_said_without_checksums(model: Path, arrays: dict[str, Any]) -> None:
    write_tensors(model / "features/idf.safetensors", arrays, {"format": 5})
    with pytest.raises(ModelCorrupt, match=r"idf\.safetensors: these are not the idf of the plan's features"):
        load(model, verify=False)


def test_a_damaged_entry_of_the_manifest_is_said(model: Path) -> None:
    manifest = model / "manifest.json"
    manifest.write_text(manifest.read_text().replace('"bytes"', '"bxtes"', 1))
    with pytest.raises(ModelCorrupt, match=r"manifest\.json: the manifest is damaged \(in its entry of plan\.json\)"):
        load(model)


def check_answers(predictor: Predictor, asked: Any) -> None:
    """Damaged weights that no check can see give another answer, but an answer."""
    best = predictor.top_k(asked, 3)
    assert np.isfinite(best.scores).all()
    assert ((best.ids >= 0) & (best.ids < predictor.n_labels)).all()


def flip_every_byte(folder: Path, name: str, asked: Any, verify: bool, step: int = 1) -> tuple[int, int]:
    """Flip a bit in each byte of a file; return how often that was found, and how often there was an answer."""
    content, found, answered = (folder / name).read_bytes(), 0, 0
    for place in range(0, len(content), step):
        damaged = bytearray(content)
        damaged[place] ^= 1 << (place % 8)
        (folder / name).write_bytes(damaged)
        try:
            predictor = load(folder, verify=verify)
            check_answers(predictor, asked)
            answered += 1
        except (ModelError, InputError):
            found += 1
    (folder / name).write_bytes(content)
    return found, answered


def test_every_byte_of_a_repetition_without_checksums(tiny: Path) -> None:
    found, answered = flip_every_byte(tiny, "repetition-000.safetensors", np.eye(4), verify=False)
    assert found > 300  # most of its header
    assert answered > 5  # a weight is any number


def test_every_byte_of_a_repetition_with_checksums(tiny: Path) -> None:
    found, answered = flip_every_byte(tiny, "repetition-000.safetensors", np.eye(4), verify=True)
    assert (found > 300, answered) == (True, 0)


# without checksums nobody looks at label names before they are used: a million of them would have to be read
@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "verify"), [(name, verify) for name in FILES for verify in (True, False) if verify or name != LABELS]
)
def test_every_byte_of_every_file(model: Path, name: str, verify: bool) -> None:
    found, answered = flip_every_byte(model, name, TEXTS, verify)
    assert found > 0
    assert not verify or name == "manifest.json" or answered == 0


def test_a_second_put_and_other_models(model: Path) -> None:
    store, before = ModelStore(model), (model / "repetition-000.safetensors").read_bytes()
    store.put(0, store.model(1), [])
    assert (model / "repetition-000.safetensors").read_bytes() == before
