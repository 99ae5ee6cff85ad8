"""How large the second stage of a model will be: formulas from measurements (docs/planning.md)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import ceil

from xmach.block_sizes import NEGATIVES_BY_PROFILE, NEGATIVES_BY_SKETCH
from xmach.config import PROFILE
from xmach.planning.data_size import DataSize
from xmach.planning.linear_sizes import TYPICAL_COST, expected_weights
from xmach.planning.sizes import stored_bytes

HIGHEST_COST = 3.0  # of the classifiers; the others that are tried keep fewer weights
# Entries of a label with many rows, on average. Of the values in a label's rows, citeulike_t kept 52 of 95, tate 96 of
# 666, and rows whose labels are equally frequent 511 of 720.
PROFILE_ENTRIES = 200
MOST_NEGATIVE_ROWS = 50_000  # or as many as there are labels: of more rows every second, third, ... gives negatives
NEW_BY_PROFILE = 0.5  # of the labels that profiles add to a training row's shortlist are not on it already


@dataclass(frozen=True)
class RankerSize:
    """The numbers that the size of a second stage follows from."""

    profile_entries: int
    weights: int = 0  # of the classifiers that are stored
    tried_weights: int = 0  # of those of the highest cost that is tried
    listed: int = 0  # labels that are wrongly on the shortlist of a training row
    text_entries: int = 0  # of the texts of labels
    dropped_entries: int = 0  # of profiles that are made, but do not fit the budget of bytes
    dropped_weights: int = 0  # of the tried ones, in the same way

    def of_share(self, share: float) -> RankerSize:
        """The size with a share of the rows."""
        return replace(
            self,
            profile_entries=ceil(share * self.profile_entries),
            weights=ceil(share * self.weights),
            tried_weights=ceil(share * self.tried_weights),
            dropped_entries=ceil(share * self.dropped_entries),
            dropped_weights=ceil(share * self.dropped_weights),
        )

    def negatives(self, n_rows: int, n_labels: int) -> int:
        """The labels that are wrongly on the shortlists of all rows that give negatives."""
        return self.listed * len(range(0, n_rows, negative_step(n_rows, n_labels)))

    def profile_bytes(self, n_labels: int, n_features: int) -> int:
        """The profiles of labels: lists by feature."""
        return stored_bytes(self.profile_entries, n_features, n_labels)

    def text_bytes(self, n_labels: int, n_features: int) -> int:
        """The texts of labels: lists as those of profiles."""
        return stored_bytes(self.text_entries, n_features, n_labels) if self.text_entries else 0

    def classifier_bytes(self, n_labels: int, n_features: int, weights: int | None = None) -> int:
        """The classifiers, with `weights` instead of those that are stored: lists by label."""
        weights = self.weights if weights is None else weights
        if not weights:
            return 0
        return stored_bytes(weights, n_labels, n_features) + 8 * (n_labels - n_features)  # scales and biases of labels

    def stored_bytes(self, n_labels: int, n_features: int) -> int:
        """All parts."""
        size = n_labels, n_features
        return self.profile_bytes(*size) + self.text_bytes(*size) + self.classifier_bytes(*size)


def expected_ranker(
    kind: str, n_labels: int, n_features: int, data: DataSize, most_bytes: int | None = None, text_entries: int = 0
) -> RankerSize:
    """The second stage that rows will give, roughly.

    Texts take what they need of `most_bytes`, profiles at most half of the rest or all of it without classifiers.
    """
    values = max(1.0, data.nonzeros_per_row if data.sparse else float(n_features))
    occurrences = data.n_rows * data.labels_per_row
    present = max(1.0, min(float(n_labels), occurrences))
    pairs = occurrences * values / present  # values in the rows of a label, repeated ones included
    texts = RankerSize(0, text_entries=text_entries).text_bytes(n_labels, n_features)
    room = float("inf") if most_bytes is None else max(0, most_bytes - texts) / 2  # entries of about 2 bytes
    most = room if kind == PROFILE else room / 2
    made = ceil(present * pairs / (1 + pairs / PROFILE_ENTRIES))
    kept = ceil(min(made, most))
    profiles = RankerSize(kept, text_entries=text_entries, dropped_entries=ceil(max(0, made - most)))
    if kind == PROFILE:
        return profiles
    stored, tried = (expected_weights(n_features, ceil(present), data, cost) for cost in (TYPICAL_COST, HIGHEST_COST))
    listed = min(n_labels - 1, NEGATIVES_BY_SKETCH + NEW_BY_PROFILE * NEGATIVES_BY_PROFILE)
    left = room - kept
    return replace(
        profiles,
        weights=ceil(min(stored, left)),
        tried_weights=tried,
        dropped_weights=ceil(max(0, tried - left)),
        listed=ceil(listed),
    )


def negative_step(n_rows: int, n_labels: int) -> int:
    """The step from one row that gives negatives to the next: 1 if all do."""
    return max(1, n_rows // max(MOST_NEGATIVE_ROWS, n_labels))
