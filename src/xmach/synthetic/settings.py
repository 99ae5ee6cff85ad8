"""The settings of a shop, validated once."""

from __future__ import annotations

from dataclasses import dataclass

from xmach.errors import ParameterError


@dataclass(frozen=True)
class ShopSettings:
    """The settings of a shop other than its size and its seed."""

    queries_per_product: float = 3.0  # default size of the training period; the paper has 1.4
    test_queries: int = 20_000  # default size of the test period; as in the paper
    seen_per_query: int = 12  # mean number of products clicked and not bought, in the test period; as in the paper
    drift: float = 0.25  # share of the test period's purchases that follows another popularity
    typos: float = 0.12  # share of queries with a mistyped word
    chunk_rows: int = 65_536  # rows of a chunk: equal texts are merged within one, and memory grows with it

    def __post_init__(self) -> None:
        for name in ("drift", "typos"):
            if not 0 <= getattr(self, name) <= 1:
                raise ParameterError(f"{name} must be from 0 to 1, got {getattr(self, name)!r}")
        for name in ("test_queries", "chunk_rows"):
            if getattr(self, name) < 1:
                raise ParameterError(f"{name} must be at least 1, got {getattr(self, name)!r}")
        if not 0 <= self.seen_per_query <= 24:
            raise ParameterError(f"seen_per_query must be from 0 to 24, got {self.seen_per_query!r}")
        if not self.queries_per_product > 0:
            raise ParameterError(f"queries_per_product must be above 0, got {self.queries_per_product!r}")
