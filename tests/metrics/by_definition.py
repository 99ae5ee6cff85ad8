"""Every metric once more, as plain loops straight from its definition; shares no code with the package.

Labels of a row are a dictionary of id to purchases; -1 in a ranking is a place without an answer.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

Row = tuple[Mapping[int, float], Sequence[int]]  # labels with purchases, ranking


def precision(labels: Mapping[int, float], ranking: Sequence[int], k: int) -> float:
    return sum(1 for label in ranking[:k] if label in labels) / k


def precision_min(labels: Mapping[int, float], ranking: Sequence[int], k: int) -> float:
    return sum(1 for label in ranking[:k] if label in labels) / min(len(labels), k) if labels else 0.0


def precision_most_rel(labels: Mapping[int, float], ranking: Sequence[int], k: int) -> float:
    return precision(most(labels), ranking, k)


def recall(labels: Mapping[int, float], ranking: Sequence[int], k: int) -> float:
    return sum(1 for label in labels if label in ranking[:k]) / len(labels) if labels else 0.0


def dcg_terms(labels: Mapping[int, float], ranking: Sequence[int], k: int) -> list[float]:
    terms = []
    for i in range(1, k + 1):
        relevance = 1 if i <= len(ranking) and ranking[i - 1] in labels else 0
        terms.append((2**relevance - 1) / math.log2(i + 1))
    return terms


def ndcg(labels: Mapping[int, float], ranking: Sequence[int], k: int) -> float:
    if not labels:
        return 0.0
    return math.fsum(dcg_terms(labels, ranking, k)) / math.fsum(dcg_terms(labels, list(labels), k))


def ndcg_paper(labels: Mapping[int, float], ranking: Sequence[int], k: int) -> float:
    terms = dcg_terms(labels, ranking, k)
    return math.fsum(terms) / max(terms) if max(terms) > 0 else 0.0


def precision_sum(labels: Mapping[int, float], ranking: Sequence[int], k: int) -> float:
    total = 0.0
    for i in range(1, min(k, len(ranking)) + 1):
        if ranking[i - 1] in labels:
            total += precision(labels, ranking, i)
    return total


def average_precision(labels: Mapping[int, float], ranking: Sequence[int], k: int) -> float:
    return precision_sum(labels, ranking, k) / min(len(labels), k) if labels else 0.0


def average_precision_paper(labels: Mapping[int, float], ranking: Sequence[int], k: int) -> float:
    return precision_sum(labels, ranking, k) / k


def reciprocal_rank(labels: Mapping[int, float], ranking: Sequence[int], k: int) -> float:
    for i, label in enumerate(ranking[:k], start=1):
        if label in labels:
            return 1 / i
    return 0.0


def reciprocal_rank_paper(labels: Mapping[int, float], ranking: Sequence[int], k: int) -> float:
    ranks = [ranking.index(label) + 1 for label in most(labels) if label in ranking[:k]]
    return 1 / min(ranks) if ranks else 0.0


def most(labels: Mapping[int, float]) -> dict[int, float]:
    return {label: count for label, count in labels.items() if count == max(labels.values())}


ROW: dict[str, Callable[[Mapping[int, float], Sequence[int], int], float]] = {
    "precision": precision,
    "precision_min": precision_min,
    "precision_most_rel": precision_most_rel,
    "recall": recall,
    "ndcg": ndcg,
    "ndcg_paper": ndcg_paper,
    "map": average_precision,
    "map_paper": average_precision_paper,
    "mrr": reciprocal_rank,
    "mrr_paper": reciprocal_rank_paper,
}


def mean(name: str, rows: Sequence[Row], k: int, weights: Sequence[float]) -> float:
    scores = [ROW[name](labels, ranking, k) for labels, ranking in rows]
    return math.fsum(s * w for s, w in zip(scores, weights, strict=True)) / math.fsum(weights)


def propensity(count: int, n_rows: int, a: float, b: float) -> float:
    c = max((math.log(n_rows) - 1) * (b + 1) ** a, 0.0)
    return 1 / (1 + c * math.exp(-a * math.log(count + b)))


def psp(rows: Sequence[Row], k: int, weights: Sequence[float], chance: Sequence[float]) -> float:
    gained = possible = 0.0
    for (labels, ranking), weight in zip(rows, weights, strict=True):
        gained += weight * sum(1 / chance[label] for label in ranking[:k] if label in labels) / k
        possible += weight * sum(sorted((1 / chance[label] for label in labels), reverse=True)[:k]) / k
    return gained / possible if possible else 0.0


def psndcg(rows: Sequence[Row], k: int, weights: Sequence[float], chance: Sequence[float]) -> float:
    gained = possible = 0.0
    for (labels, ranking), weight in zip(rows, weights, strict=True):
        if not labels:
            continue
        rarest_first = sorted(labels, key=lambda label: chance[label])
        ideal = sum(1 / math.log2(i + 1) for i in range(1, min(len(labels), k) + 1))
        for i in range(1, k + 1):
            if i <= len(ranking) and ranking[i - 1] in labels:
                gained += weight / chance[ranking[i - 1]] / math.log2(i + 1) / ideal
            if i <= len(rarest_first):
                possible += weight / chance[rarest_first[i - 1]] / math.log2(i + 1) / ideal
    return gained / possible if possible else 0.0


def coverage(rows: Sequence[Row], k: int) -> float:
    occurring = {label for labels, _ in rows for label in labels}
    found = {label for labels, ranking in rows for label in ranking[:k] if label in labels}
    return len(found) / len(occurring) if occurring else 0.0


def groups(counts: Sequence[int]) -> list[str]:
    """The group of each label: walk down the labels from the most frequent and look at what lies above."""
    names = ["tail"] * len(counts)
    above = 0
    for label in sorted(range(len(counts)), key=lambda label: (-counts[label], label)):
        if counts[label] > 0:
            percent = 100 * above / sum(counts)
            names[label] = "head" if percent < 50 else "torso" if percent < 90 else "tail"
        above += counts[label]
    return names


def group_recall(rows: Sequence[Row], k: int, weights: Sequence[float], names: Sequence[str], group: str) -> float:
    gained = possible = 0.0
    for (labels, ranking), weight in zip(rows, weights, strict=True):
        for label in of_group(labels, names, group):
            gained += weight if label in ranking[:k] else 0.0
            possible += weight
    return gained / possible if possible else 0.0


def true_share(rows: Sequence[Row], weights: Sequence[float], names: Sequence[str], group: str) -> float:
    there = sum(w * len(of_group(labels, names, group)) for (labels, _), w in zip(rows, weights, strict=True))
    total = sum(w * len(labels) for (labels, _), w in zip(rows, weights, strict=True))
    return there / total if total else 0.0


def of_group(labels: Mapping[int, float], names: Sequence[str], group: str) -> list[int]:
    return [label for label in labels if (names[label] if label < len(names) else "tail") == group]


def everything(
    rows: Sequence[Row], ks: Sequence[int], weights: Sequence[float], counts: Sequence[int], chance: Sequence[float]
) -> dict[str, float]:
    """Every metric by the name under which the package reports it."""
    names = groups(counts)
    values = {f"{name}@{k}": mean(name, rows, k, weights) for name in ROW for k in ks}
    for k in ks:
        values[f"coverage@{k}"] = coverage(rows, k)
        values[f"psp@{k}"] = psp(rows, k, weights, chance)
        values[f"psndcg@{k}"] = psndcg(rows, k, weights, chance)
        for group in ("head", "torso", "tail"):
            values[f"recall@{k} {group}"] = group_recall(rows, k, weights, names, group)
    for group in ("head", "torso", "tail"):
        values[f"true share {group}"] = true_share(rows, weights, names, group)
        values[f"label share {group}"] = names.count(group) / len(counts)
    return values
