"""Models of text on disk: format 3 for a vocabulary or ones, and damaged vocabularies."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from xmach import MACHClassifier, load
from xmach.errors import ModelCorrupt, PlanMismatch
from xmach.features import HashedText, VocabularyText
from xmach.store import ModelStore
from xmach.store.tensors import read_tensors, write_tensors

TEXTS = ["red shoe", "red sock", "blue shoe", "iron pan", "iron pot", "green tea"] * 4
LABELS = ["shoe", "sock", "shoe", "pan", "pot", "tea"] * 4
SMALL = VocabularyText(n_features=300, words=20, bigrams=10, trigrams=30, unknown=40)
FILE = "features/vocabulary.safetensors"


def fitted(features: Any) -> MACHClassifier:
    return MACHClassifier(4, 2, hidden=(8,), epochs=3, features=features).fit(TEXTS, LABELS)


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("text") / "model"
    fitted(SMALL).save(folder)
    return folder


@pytest.fixture
def model(saved: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(saved, tmp_path / "model"))


def formats(folder: Path) -> set[int]:
    return {json.loads((folder / name).read_text())["format"] for name in ("plan.json", "manifest.json")}


def test_a_stored_vocabulary_answers_raw_text_as_in_memory(saved: Path) -> None:
    clf = fitted(SMALL)
    asked = ["red shoes", "tea", ""]
    mine, stored = clf.top_k(asked, 3), load(saved).top_k(asked, 3)
    assert mine.labels.tolist() == stored.labels.tolist()
    np.testing.assert_array_equal(mine.scores, stored.scores)
    assert load(saved).text == clf.predictor_.text
    assert FILE in json.loads((saved / "manifest.json").read_text())["files"]


def test_the_format_is_the_least_that_knows_the_features(saved: Path, tmp_path: Path) -> None:
    assert formats(saved) == {3}
    for features, number in ((HashedText(300), 1), (HashedText(300, binary=True), 3)):
        folder = tmp_path / f"{number}"
        fitted(features).save(folder)
        assert formats(folder) == {number}
        assert not (folder / FILE).exists()
        assert load(folder).text == features


def test_the_same_fit_is_the_same_bytes(saved: Path, tmp_path: Path) -> None:
    fitted(SMALL).save(tmp_path / "again")
    for path in sorted(saved.rglob("*.*")):
        assert path.read_bytes() == (tmp_path / "again" / path.relative_to(saved)).read_bytes(), path


def test_going_on_with_another_vocabulary_is_refused(saved: Path) -> None:
    store, clf = ModelStore(saved), fitted(SMALL)
    ours, counts = SMALL.learn(TEXTS), clf.predictor_.label_counts
    store.begin(store.plan(), counts, None, clf.predictor_.scaler, ours)  # the same again
    other = replace(store.plan(), features=SMALL.learn(TEXTS[:3]).to_dict())
    with pytest.raises(PlanMismatch, match=r"another plan \(features vocabulary: \w+ here, \w+ there\);"):
        store.begin(other, counts, None, clf.predictor_.scaler, SMALL.learn(TEXTS[:3]))


def test_only_what_differs_between_plans_is_told(saved: Path) -> None:
    plan, text = ModelStore(saved).plan(), HashedText(300)
    hashed = replace(plan, features=text.to_dict())
    assert hashed.differences(plan) == ["features: hashed-text here, vocabulary-text there"]
    ones = replace(plan, features=replace(text, binary=True).to_dict())
    assert ones.differences(hashed) == ["features binary: True here, None there"]
    assert hashed.differences(ones) == ["features binary: None here, True there"]
    assert replace(plan, features=None).differences(replace(plan, seed=1)) == [
        f"features: None here, {plan.features} there",
        "seed: 0 here, 1 there",
    ]
    assert plan.differences(ModelStore(saved).plan()) == []


def test_a_row_with_fewer_candidates_has_no_name_in_their_place(saved: Path) -> None:
    best = load(saved).top_k(["red shoe", "green tea"], k=3, candidates=[[0], [2, 1]])
    assert best.ids[0].tolist() == [0, -1]
    assert best.labels[0].tolist() == ["pan", None]
    assert set(best.labels[1]) == {"pot", "shoe"}


@pytest.mark.parametrize("verify", [True, False])
def test_a_missing_vocabulary(model: Path, verify: bool) -> None:
    (model / FILE).unlink()
    with pytest.raises(ModelCorrupt, match="is not there"):
        load(model, verify=verify)


def test_a_flipped_bit(model: Path) -> None:
    data = bytearray((model / FILE).read_bytes())
    data[-1] ^= 1
    (model / FILE).write_bytes(data)
    with pytest.raises(ModelCorrupt, match="does not match the manifest"):
        load(model)
    with pytest.raises(ModelCorrupt, match=r"vocabulary\.safetensors: this is not the vocabulary that the plan names"):
        load(model, verify=False)
    (model / "manifest.json").unlink()
    with pytest.raises(ModelCorrupt, match="does not match its checksum"):
        load(model, allow_partial=True)


def test_the_vocabulary_of_another_model(model: Path) -> None:
    arrays, about = read_tensors(model / FILE, verify=True)
    write_tensors(model / FILE, {"keys": arrays["keys"][:-1]}, about)
    with pytest.raises(ModelCorrupt, match="not the vocabulary that the plan names"):
        ModelStore(model).text()
    write_tensors(model / FILE, {"keys": arrays["keys"][::-1]}, about)
    with pytest.raises(ModelCorrupt, match="the keys are not those of words"):
        ModelStore(model).text()
