"""`ranker_bytes`: the most bytes of the second stage's files, and how its parts share them.

Texts of labels take what they need, as each of their features counts. Profiles and classifiers lose their smallest
values: profiles get half of the rest at most, classifiers what profiles leave, and a part without the other everything.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from xmach.config import NONE, PROFILE
from xmach.errors import InputError, NotEnoughMemory, ParameterError
from xmach.planning import Plan
from xmach.ranking import Profiles
from xmach.ranking.label_joining import least_bytes as least_classifier_bytes
from xmach.ranking.profiles import least_bytes as least_profile_bytes
from xmach.training.job import Job
from xmach.training.label_text_profiles import text_bytes

HEADER_BYTES = 1024  # of a file, at most: names, shapes, checksums
_ENTRY_BYTES = 3  # of a profile, at most: a wide gap and a code


@dataclass(frozen=True)
class RankerBudget:
    """How many bytes the arrays of each part may have."""

    total: int | None  # None: as many as they want
    texts: int  # the file of texts
    least_profiles: int  # a file of profiles with one entry each
    least_classifiers: int  # a file of classifiers without weights; 0 if the plan has none

    @classmethod
    def of(cls, job: Job) -> RankerBudget:
        """The budget of a job."""
        plan = job.plan
        if plan.ranker_bytes is None:
            return cls(None, 0, 0, 0)
        n_labels, texts = plan.hashes.n_labels, text_bytes(job)
        return cls(
            plan.ranker_bytes,
            texts + HEADER_BYTES if texts else 0,
            least_profile_bytes(plan.n_features, n_labels) + _ENTRY_BYTES * n_labels + HEADER_BYTES,
            0 if plan.ranker == PROFILE else least_classifier_bytes(n_labels) + HEADER_BYTES,
        )

    @property
    def least(self) -> int:
        """The smallest possible total."""
        return self.texts + self.least_profiles + self.least_classifiers

    def for_profiles(self, *, beside_classifiers: bool) -> int | None:
        """The bytes for profiles."""
        if self.total is None:
            return None
        if not beside_classifiers:
            return max(0, self.total - self.texts - HEADER_BYTES)
        return max(0, self.least_profiles + (self.total - self.least) // 2 - HEADER_BYTES)

    def for_classifiers(self, profiles: Profiles | None) -> int | None:
        """The bytes for classifiers beside these profiles."""
        if self.total is None:
            return None
        taken = 0 if profiles is None else profiles.n_bytes + HEADER_BYTES
        return max(0, self.total - self.texts - taken - HEADER_BYTES)


def check_ranker_bytes(job: Job) -> None:
    """Raise ParameterError if the ranker's files cannot be as small as `ranker_bytes`: before training, not after."""
    plan = job.plan
    if plan.ranker == NONE or plan.ranker_bytes is None:
        return
    budget = RankerBudget.of(job)
    if plan.ranker_bytes < budget.least:
        sizes = f"{plan.hashes.n_labels:,} labels and {plan.n_features:,} features"
        texts = f", whose texts take {budget.texts:,} bytes" if budget.texts else ""
        raise ParameterError(
            f"ranker_bytes={plan.ranker_bytes} is too little for {sizes}{texts}: give at least {budget.least}, or "
            "train without a ranker"
        )


@contextmanager
def explained_budget(plan: Plan) -> Iterator[None]:
    """Let the error of a part that does not fit name the option."""
    try:
        yield
    except (InputError, NotEnoughMemory) as error:
        if plan.ranker_bytes is None:
            raise
        raise ParameterError(f"ranker_bytes={plan.ranker_bytes} is too little: {error}") from None
