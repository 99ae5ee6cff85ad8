"""Defaults that serve three public sets: P@1 / P@3 / P@5 on the whole test set, R = 16 and only the buckets chosen."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from tests.conftest import Run

from xmach import load, read_dataset
from xmach.evaluation import evaluate


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "buckets", "floors"),
    [
        ("delicious", 300, (66.0, 60.5, 56.0)),
        ("bibtex", 100, (63.0, 38.0, 28.0)),
        ("citeulike_t", 2000, (59.0, 44.5, 35.5)),
    ],
)
def test_defaults_reach_their_floors(
    xmach: Run, shared_data: Path, tmp_path: Path, name: str, buckets: int, floors: tuple[float, float, float]
) -> None:
    folder = shared_data / name
    xmach("train", folder / "train.txt.gz", "--model", tmp_path / "m", "--buckets", buckets, "--repetitions", 16)
    predictor, test = load(tmp_path / "m"), read_dataset(folder / "test.txt.gz")
    whole = evaluate(predictor, test)[0].metrics
    for k, floor in zip((1, 3, 5), floors, strict=True):
        assert 100 * whole[f"precision@{k}"] >= floor
    few = replace(predictor, models=predictor.models[:2], hashes=predictor.hashes.subset([0, 1]))
    fewer = evaluate(few, test)[0].metrics
    assert all(whole[f"precision@{k}"] > fewer[f"precision@{k}"] for k in (1, 3, 5))
