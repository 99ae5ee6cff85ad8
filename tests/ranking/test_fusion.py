"""The weights of the parts: found on held-out rows, turned into scores, stored."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from xmach.errors import InputError
from xmach.metrics import ndcg_at_k, precision_at_k, psp_at_k
from xmach.ranking import Fusion, Shortlist
from xmach.ranking.fusion import Line, log_cosine, log_margin
from xmach.ranking.weighing import Trial, logistic_line
from xmach.types import SparseRows

N_ROWS, N_LABELS = 400, 30


def made_up(seed: int = 0) -> tuple[Shortlist, SparseRows]:
    """Shortlists of 12 of 30 labels; each row has two labels, which may be on its shortlist or not."""
    rng = np.random.default_rng(seed)
    found = np.array([rng.choice(N_LABELS, 12, replace=False) for _ in range(N_ROWS)])
    own = np.sort([rng.choice(N_LABELS, 2, replace=False) for _ in range(N_ROWS)], axis=1)
    labels = SparseRows(
        np.arange(0, 2 * N_ROWS + 1, 2), own.ravel().astype(np.int32), np.ones(2 * N_ROWS, np.float32), N_LABELS
    )
    return Shortlist.of([found]), labels


def trial_of(*informative: str, noise: tuple[str, ...] = (), seed: int = 0) -> tuple[Trial, Shortlist, SparseRows]:
    shortlist, labels = made_up(seed)
    rng, right = np.random.default_rng(seed + 1), shortlist.are_labels(labels)
    parts = {name: (2.0 * right + rng.normal(size=len(right))).astype(np.float32) for name in informative}
    parts |= {name: (3.0 * rng.normal(size=len(right))).astype(np.float32) for name in noise}
    return Trial(shortlist, parts, labels), shortlist, labels


def test_a_part_of_noise_is_left_out() -> None:
    fusion, quality = trial_of("mach", "profile", noise=("ranker",))[0].fit()
    assert set(fusion.weights) == {"mach", "profile"}
    assert all(weight > 0 for weight in fusion.weights.values())
    assert quality > 0.3


def test_a_part_that_changes_nothing_is_left_out() -> None:
    shortlist, labels = made_up()
    right = shortlist.are_labels(labels).astype(np.float32)
    fusion, _ = Trial(shortlist, {"mach": right, "ranker": np.zeros_like(right)}, labels).fit()
    assert set(fusion.weights) == {"mach"}


def test_the_sketch_always_counts() -> None:
    fusion, _ = trial_of("profile", noise=("mach",))[0].fit()
    assert fusion.weights.keys() >= {"mach", "profile"}


def test_two_informative_parts_rank_better_than_one() -> None:
    both, one = trial_of("mach", "ranker")[0], trial_of("mach")[0]
    assert both.fit()[1] > one.fit()[1] + 0.02


def test_the_quality_is_made_of_precision_ndcg_and_psp() -> None:
    trial, shortlist, labels = trial_of("mach")
    _, ids = shortlist.best(trial._parts["mach"], 5)
    psp = psp_at_k(labels, ids, 5, propensities=np.ones(N_LABELS))
    expected = 0.45 * (precision_at_k(labels, ids, 1) + ndcg_at_k(labels, ids, 5)) + 0.1 * psp
    assert trial.quality({"mach": 1.0}) == pytest.approx(expected, abs=1e-9)
    assert trial.quality({"mach": 3.0}) == pytest.approx(expected, abs=1e-9)


def test_many_places_count_if_they_are_asked_for() -> None:
    shortlist, labels = made_up()
    part = {"mach": np.random.default_rng(0).normal(size=len(shortlist.ids)).astype(np.float32)}
    _, ids = shortlist.best(part["mach"], 10)
    first = Trial(shortlist, part, labels).quality({"mach": 1.0})
    deep = Trial(shortlist, part, labels, depth=10).quality({"mach": 1.0})
    assert deep == pytest.approx(first / 3 + 2 / 3 * ndcg_at_k(labels, ids, 10), abs=1e-9)


def test_rows_count_by_their_weights() -> None:
    shortlist, labels = made_up()
    part = {"mach": np.random.default_rng(0).normal(size=len(shortlist.ids)).astype(np.float32)}
    single = [
        Trial(shortlist, part, labels, None, 0, (np.arange(N_ROWS) == i).astype(np.float32)).quality({"mach": 1.0})
        for i in (0, 1)
    ]
    weights = np.where(np.arange(N_ROWS) == 0, 3.0, 0.0).astype(np.float32)
    weights[1] = 1.0
    both = Trial(shortlist, part, labels, None, 0, weights).quality({"mach": 1.0})
    assert both == pytest.approx(0.75 * single[0] + 0.25 * single[1], abs=1e-9)
    alike = Trial(shortlist, part, labels, None, 0, np.full(N_ROWS, 7.0, np.float32)).quality({"mach": 1.0})
    assert alike == pytest.approx(Trial(shortlist, part, labels).quality({"mach": 1.0}), abs=1e-12)


def test_scores_estimate_the_share_of_right_candidates() -> None:
    trial, shortlist, labels = trial_of("mach", "profile")
    fusion, _ = trial.fit()
    scores = fusion.scores(trial._parts)
    assert scores.dtype == np.float32
    assert ((scores > 0) & (scores < 1)).all()
    assert scores.mean() == pytest.approx(shortlist.are_labels(labels).mean(), abs=0.01)


def test_extreme_sums_stay_finite() -> None:
    scores = Fusion({"mach": 1.0}).scores({"mach": np.array([-1e30, -200.0, 0.0, 200.0], np.float32)})
    assert np.isfinite(scores).all()
    assert (np.diff(scores) >= 0).all()


def test_slope_and_intercept_are_those_of_a_logistic_regression() -> None:
    rng = np.random.default_rng(3)
    x = 5.0 + 3.0 * rng.normal(size=3000)
    right = rng.random(3000) < 1.0 / (1.0 + np.exp(-(0.7 * x - 4.0)))
    slope, intercept = logistic_line(x, right)
    oracle = LogisticRegression(C=1e6, tol=1e-8).fit(x[:, None], right)
    assert slope == pytest.approx(oracle.coef_[0, 0], rel=2e-2)
    assert intercept == pytest.approx(oracle.intercept_[0], rel=2e-2)


@pytest.mark.parametrize("right", [np.ones(5, np.bool_), np.zeros(5, np.bool_), np.zeros(0, np.bool_)])
def test_nothing_to_calibrate_on(right: np.ndarray) -> None:
    assert logistic_line(np.arange(len(right), dtype=np.float64), right) == (1.0, 0.0)


def test_a_slope_is_never_negative() -> None:
    slope, _ = logistic_line(np.arange(100.0), np.arange(100) < 50)  # larger sums are wrong
    assert slope > 0


def test_values_of_parts() -> None:
    assert log_margin(np.array([0.0, 1.0], np.float32)) == pytest.approx([-np.log(2.0), -np.log1p(np.exp(-3.0))])
    assert log_cosine(np.array([-0.5, 0.0, 1.0], np.float32)) == pytest.approx(np.log([0.02, 0.02, 1.02]), rel=1e-5)


@pytest.mark.parametrize(
    "fusion",
    [
        Fusion({"mach": 0.71, "prior": -0.2}, 1.5, -3.0),
        Fusion({"mach": 0.01, "text": 4.0}, 0.8, -1.5, share=0.03, sketch=Line(1.4, -0.9)),
    ],
)
def test_there_and_back(fusion: Fusion) -> None:
    assert Fusion.from_dict(fusion.to_dict()) == fusion
    assert fusion.uses("mach")
    assert not fusion.uses("ranker")


@pytest.mark.parametrize(
    ("weights", "slope"),
    [({"mach": np.inf}, 1.0), ({"other": 1.0}, 1.0), ({"mach": 1.0}, 0.0), ({"mach": 1.0}, np.nan)],
)
def test_weights_that_are_none(weights: dict[str, float], slope: float) -> None:
    with pytest.raises(InputError, match="a ranker's weights must be finite numbers for mach, ranker"):
        Fusion(weights, slope)


@pytest.mark.parametrize("share", [-0.1, 1.0, np.nan])
def test_a_share_that_is_none(share: float) -> None:
    with pytest.raises(InputError, match="share of a score must be from 0 to below 1"):
        Fusion({"mach": 1.0}, share=share)


def test_a_score_mixes_two_estimates() -> None:
    values = {"mach": [-3.0, -0.5, -9.0], "text": [-0.2, -2.0, -0.1], "unseen": [0.0, 0.0, 1.0]}
    parts = {name: np.array(each, np.float32) for name, each in values.items()}
    fusion = Fusion({"mach": 0.1, "text": 4.0}, 0.8, -1.5, share=0.1, sketch=Line(1.4, -0.9))
    summed = 1 / (1 + np.exp(-(0.8 * (0.1 * parts["mach"] + 4.0 * parts["text"]) - 1.5)))
    alone = 1 / (1 + np.exp(-(1.4 * parts["mach"] - 0.9)))
    expected = 0.9 * summed + 0.1 * alone
    expected[2] = summed[2]  # nothing was learned of this label
    assert fusion.scores(parts) == pytest.approx(expected, rel=1e-5)


def test_the_sketch_gets_a_share_beside_texts_if_rows_rank_better_with_it() -> None:
    shortlist, labels = made_up()
    right, rng = shortlist.are_labels(labels), np.random.default_rng(0)
    text = (right + rng.normal(size=len(right))).astype(np.float32)
    knows, knows_not = (3.0 * right + rng.normal(size=len(right)) - 6.0, rng.normal(size=len(right)) - 6.0)
    for name, mach, expected in (("text", knows, True), ("text", knows_not, False), ("profile", knows, False)):
        nothing = np.zeros(len(right), np.float32)
        trial = Trial(shortlist, {"mach": mach.astype(np.float32), name: text, "unseen": nothing}, labels)
        alone = Fusion({name: 1.0})
        fusion, qualities = trial._with_sketch(trial._calibrated(alone), trial._qualities(alone.weights))
        assert (fusion.share > 0) == expected
        assert (qualities.mean() > trial.quality(alone.weights)) == expected


def test_the_sketch_gets_no_share_that_ranks_rows_worse() -> None:
    """Texts rank each row perfectly, but some rows match no text well: there the sketch's estimate would win."""
    shortlist, labels = made_up()
    right, rng = shortlist.are_labels(labels), np.random.default_rng(0)
    level = np.repeat(4.0 * rng.normal(size=N_ROWS), np.diff(shortlist.indptr))
    parts = {"mach": 2.0 * right + rng.normal(size=len(right)), "text": right + level, "unseen": np.zeros(len(right))}
    trial = Trial(shortlist, {name: values.astype(np.float32) for name, values in parts.items()}, labels)
    alone = trial._calibrated(Fusion({"text": 1.0}))
    mixed = replace(alone, share=0.1)
    assert trial._likelihood(mixed.scores(trial._parts)) > trial._likelihood(alone.scores(trial._parts))
    fusion, qualities = trial._with_sketch(alone, trial._qualities(alone.weights))
    assert fusion.share == 0.0
    assert qualities.mean() == trial.quality(alone.weights)


def test_rows_without_labels_do_not_count() -> None:
    shortlist, labels = made_up()
    part = {"mach": shortlist.are_labels(labels).astype(np.float32)}
    whole = Trial(shortlist, part, labels).quality({"mach": 1.0})
    longer = Shortlist(np.append(shortlist.indptr, shortlist.indptr[-1]), shortlist.ids)
    with_empty_row = replace(labels, indptr=np.append(labels.indptr, labels.indptr[-1]))
    assert Trial(longer, part, with_empty_row).quality({"mach": 1.0}) == whole
    nothing = Shortlist(np.zeros(2, np.int64), np.empty(0, np.int64))
    no_labels = SparseRows(np.zeros(2, np.int64), np.empty(0, np.int32), np.empty(0, np.float32), N_LABELS)
    assert Trial(nothing, {"mach": np.empty(0, np.float32)}, no_labels).quality({"mach": 1.0}) == 0.0


def test_rare_labels_count_more() -> None:
    """Of two parts that rank equally many labels right, the one that finds the rare ones gets the weight."""
    shortlist, labels = made_up()
    right, rare = shortlist.are_labels(labels), shortlist.ids < N_LABELS // 2
    parts = {
        "mach": (right & ~rare).astype(np.float32) * 3,
        "profile": (right & rare).astype(np.float32) * 3,
    }
    worth = np.where(np.arange(N_LABELS) < N_LABELS // 2, 20.0, 1.0)
    plain, tail = Trial(shortlist, parts, labels), Trial(shortlist, parts, labels, worth)
    for trial, better in ((plain, None), (tail, "profile")):
        first, second = trial.quality({"mach": 1.0, "profile": 2.0}), trial.quality({"mach": 2.0, "profile": 1.0})
        assert (first > second) == (better == "profile") or abs(first - second) < 0.01


def test_the_goal_decides_which_labels_count() -> None:
    """One part finds more labels, the other one the rare labels: each goal prefers another."""
    shortlist, labels = made_up()
    right, rare = shortlist.are_labels(labels), shortlist.ids < N_LABELS // 5
    parts = {"mach": (right & ~rare).astype(np.float32), "profile": (right & rare).astype(np.float32)}
    worth = np.where(np.arange(N_LABELS) < N_LABELS // 5, 20.0, 1.0)
    finds_common, finds_rare = {"mach": 2.0, "profile": 1.0}, {"mach": 1.0, "profile": 2.0}
    for goal in ("precision", "propensity"):
        trial = Trial(shortlist, parts, labels, worth, goal=goal)
        _, ids = shortlist.best(parts["mach"] + 2 * parts["profile"], 5)
        if goal == "propensity":
            chances = 1 / worth
            expected = [psp_at_k(labels, ids, k, propensities=chances) for k in (1, 5)]
            assert trial.quality(finds_rare) == pytest.approx(np.mean(expected), abs=1e-9)
            assert trial.quality(finds_rare) > trial.quality(finds_common)
        rare_alone = trial.quality({"profile": 1.0}) > trial.quality({"mach": 1.0})
        assert rare_alone == (goal == "propensity")


def test_labels_without_rows_compete_by_their_texts() -> None:
    """No held-out row has such a label: what they lack elsewhere is made up for, as far as no row suffers."""
    shortlist, labels = made_up()
    right, rng = shortlist.are_labels(labels), np.random.default_rng(0)
    unseen = ~right & (rng.random(len(right)) < 0.2)
    parts = {
        "mach": np.where(right, -0.1, -8.0).astype(np.float32),
        "text": np.where(right, 0.0, -2.0).astype(np.float32),
        "unseen": unseen.astype(np.float32),
    }
    fusion, _ = Trial(shortlist, parts, labels).fit()
    assert 5.0 < fusion.weights["unseen"] < 8.0
    similar = {"mach": np.array([-8.0, -0.1]), "text": np.array([0.0, -2.0]), "unseen": np.array([1.0, 0.0])}
    scores = fusion.scores({name: values.astype(np.float32) for name, values in similar.items()})
    assert scores[0] > scores[1]  # the text of the unseen label says that it is meant
