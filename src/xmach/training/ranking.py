"""Trains the second stage of a model whose repetitions are there: profiles, shortlists, classifiers, fusion."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from logging import getLogger

from xmach.config import NONE, PROFILE, MachConfig
from xmach.predictor import Predictor
from xmach.ranking import Fusion, Ranking, log_frequencies
from xmach.training.choice import RankerChoice, best_fusion
from xmach.training.fitted import Fitted
from xmach.training.job import Job
from xmach.training.ranker_parts import RankerParts, ranker_parts
from xmach.training.run import Resources
from xmach.training.shards import SharedArrays
from xmach.training.trial import choose_by_trial, in_trial

_log = getLogger(__name__)
COSTS = (0.3, 1.0, 3.0)  # of the classifiers; held-out rows choose


def train_ranking(
    job: Job, predictor: Predictor, config: MachConfig, resources: Resources, fit: Callable[..., Fitted]
) -> Ranking | None:
    """Train the second stage; None if the plan has none, or if nothing helps the sketch on held-out rows.

    `predictor` knows the sketch, and `fit` trains a trial model.
    """
    if job.plan.ranker == NONE:
        return None
    choice = None
    if job.validation is None:
        choice = choose_by_trial(job, config, resources, fit)
        if choice is None:
            _log.info("too few rows to weigh a ranker against the sketch: the model has none")
            return None
    ranking = None
    if choice is None or choice.helps:
        with ranker_parts(job, predictor, resources) as parts:
            ranking = _trained(parts, choice)
    if not in_trial():
        _log.info(f"ranker: {_in_words(ranking)}")
    return ranking


def _trained(parts: RankerParts, choice: RankerChoice | None) -> Ranking | None:
    """The second stage, if it helps. Without a `choice`, the validation rows make it."""
    plan, budget = parts.job.plan, parts.budget
    ranking = Ranking(Fusion({"mach": 1.0}), log_frequencies(parts.job.data.label_counts()), texts=parts.texts())
    ranked = plan.ranker != PROFILE and (choice is None or choice.fusion.uses("ranker"))
    if ranked or choice is None or choice.fusion.uses("profile"):
        ranking = replace(ranking, profiles=parts.profiles(budget.for_profiles(beside_classifiers=ranked)))
    if not ranked:
        choice = _chosen_without_ranker(parts, ranking) if choice is None else choice
        return choice.applied(ranking)
    assert ranking.profiles is not None
    negatives = parts.negatives(parts.shortlist_shards(ranking.profiles))
    if choice is None:
        choice = _chosen(parts, ranking, negatives)
    if choice.fusion.uses("ranker"):
        most_bytes = budget.for_classifiers(ranking.profiles if choice.fusion.uses("profile") else None)
        ranking = replace(ranking, ranker=parts.classifiers(negatives, choice.cost, most_bytes))
    elif choice.fusion.uses("profile") and plan.ranker_bytes is not None:
        ranking = replace(ranking, profiles=parts.profiles(budget.for_profiles(beside_classifiers=False)))
    return choice.applied(ranking)


def _chosen(parts: RankerParts, ranking: Ranking, negatives: SharedArrays) -> RankerChoice:
    """The cost and the fusion that rank the validation rows best."""
    job, best = parts.job, None
    assert job.validation is not None
    most_bytes = parts.budget.for_classifiers(ranking.profiles)
    for cost in COSTS:
        ranking = replace(ranking, ranker=None)  # of the cost before
        ranking = replace(ranking, ranker=parts.classifiers(negatives, cost, most_bytes))
        fusion, quality = best_fusion(ranking, parts.predictor, job, job.validation)
        if best is None or quality > best[0]:
            best = quality, RankerChoice(fusion, cost)
    assert best is not None
    return best[1]


def _chosen_without_ranker(parts: RankerParts, ranking: Ranking) -> RankerChoice:
    assert parts.job.validation is not None
    return RankerChoice(best_fusion(ranking, parts.predictor, parts.job, parts.job.validation)[0], 0.0)


def _in_words(ranking: Ranking | None) -> str:
    """What a ranker weighs."""
    if ranking is None:
        return "no part helped the sketch's own score on held-out rows, so the model has none"
    weights = ranking.fusion.weights
    cost = f"; cost {ranking.cost:g}" if "ranker" in weights else ""
    parts = ", ".join(f"{name} {weight:.3g}" for name, weight in weights.items())
    return f"parts by weight: {parts}{cost}; {ranking.n_weights:,} values stored"
