"""`ranker_bytes`: all files of the ranker within it, and no less than that."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.conftest import made_up
from tests.training.test_ranking import CONFIG, DATA, LOCAL

from xmach.data import LabelTexts
from xmach.data.arrays import as_sparse_rows
from xmach.errors import ParameterError
from xmach.features import fit_scaler
from xmach.ranking import Profiles, profile_part, rows_of_labels, weighing
from xmach.training import fit, plan_training
from xmach.training.label_text_profiles import text_bytes
from xmach.training.ranker_budget import HEADER_BYTES, RankerBudget


@pytest.fixture(scope="module", autouse=True)
def no_part_is_left_out() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(weighing, "_LEAST_GAIN", -1.0)
        yield


RICH = made_up(600, 400, 60, labels_each=6)


def ranker_files(folder: Path) -> int:
    names = ("profiles.safetensors", "ranker.safetensors", "texts.safetensors")
    return sum((folder / name).stat().st_size for name in names if (folder / name).exists())


@pytest.fixture(scope="module")
def unlimited(tmp_path_factory: pytest.TempPathFactory) -> int:
    """The bytes of a ranker with texts, and without a budget."""
    folder = tmp_path_factory.mktemp("unlimited") / "model"
    fit(RICH, CONFIG, folder, **LOCAL, label_text=LabelTexts.of(np.arange(40), RICH.features.slice(0, 40)))
    return ranker_files(folder)


@pytest.mark.parametrize("with_texts", [False, True])
@pytest.mark.parametrize("kind", ["profile", "linear"])
@pytest.mark.parametrize("options", [{}, {"validation": RICH.slice(0, 100)}], ids=["trial", "validation"])
def test_a_budget_holds_for_all_files_and_is_used(
    tmp_path: Path, unlimited: int, kind: str, with_texts: bool, options: dict[str, Any]
) -> None:
    texts = LabelTexts.of(np.arange(40), RICH.features.slice(0, 40)) if with_texts else None
    budget = unlimited // 4
    config = replace(CONFIG, ranker=kind, ranker_bytes=budget)
    fit(RICH, config, tmp_path / "model", **LOCAL, label_text=texts, **options)
    assert 0.8 * budget < ranker_files(tmp_path / "model") <= budget


def test_texts_take_the_same_bytes_whatever_they_weigh() -> None:
    texts = LabelTexts.of(np.arange(40), RICH.features.slice(0, 40))
    fitted = fit(RICH, CONFIG, **LOCAL, label_text=texts)
    assert fitted.predictor is not None
    assert fitted.predictor.ranking is not None
    assert fitted.predictor.ranking.texts is not None
    job = plan_training(RICH, CONFIG, fitted.predictor.scaler, label_text=texts)
    assert text_bytes(job) == fitted.predictor.ranking.texts.n_bytes
    assert text_bytes(replace(job, label_text=None)) == 0


def test_without_the_other_part_a_part_gets_everything() -> None:
    rows = as_sparse_rows(np.eye(3, dtype=np.float32))
    profiles = Profiles.join([profile_part(rows, rows_of_labels(rows, 0, 3))], 3, 3)
    budget = RankerBudget(total=100_000, texts=10_000, least_profiles=5_000, least_classifiers=3_000)
    assert budget.least == 18_000
    assert budget.for_profiles(beside_classifiers=True) == 5_000 + 41_000 - HEADER_BYTES
    assert budget.for_profiles(beside_classifiers=False) == budget.for_classifiers(None) == 90_000 - HEADER_BYTES
    assert budget.for_classifiers(profiles) == 90_000 - profiles.n_bytes - 2 * HEADER_BYTES
    free = RankerBudget(None, 0, 0, 0)
    assert free.for_profiles(beside_classifiers=True) is free.for_classifiers(None) is None


PROFILE_BYTES, CLASSIFIER_BYTES = 4 * 81 + 7 * 60 + HEADER_BYTES, 4 * 61 + 8 * 60 + 8 + HEADER_BYTES


@pytest.mark.parametrize(("kind", "least"), [("profile", PROFILE_BYTES), ("linear", PROFILE_BYTES + CLASSIFIER_BYTES)])
@pytest.mark.parametrize("with_texts", [False, True])
def test_a_budget_that_cannot_be_kept_is_rejected_before_training(
    tmp_path: Path, kind: str, least: int, with_texts: bool
) -> None:
    config, texts, told = replace(CONFIG, ranker=kind), None, "features"
    if with_texts:
        texts, told = LabelTexts.of(np.arange(40), DATA.features.slice(0, 40)), "features, whose texts take .* bytes"
        least += HEADER_BYTES + text_bytes(plan_training(DATA, CONFIG, fit_scaler(DATA.features), label_text=texts))
    with pytest.raises(ParameterError, match=rf"={least - 1} is too little .* {told}: give at least {least}"):
        fit(DATA, replace(config, ranker_bytes=least - 1), tmp_path / "model", **LOCAL, label_text=texts)
    assert not (tmp_path / "model").exists()
    fit(DATA, replace(config, ranker_bytes=least), tmp_path / "model", **LOCAL, label_text=texts)
    assert ranker_files(tmp_path / "model") <= least


def test_a_part_that_does_not_fit_names_the_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(import_module("xmach.training.fit"), "check_ranker_bytes", lambda job: None)
    with pytest.raises(ParameterError, match="ranker_bytes=100 is too little: profiles of 60 labels"):
        fit(DATA, replace(CONFIG, ranker_bytes=100), **LOCAL)
