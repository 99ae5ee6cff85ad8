"""What a plan knows of the rows."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, inf

from xmach.block_sizes import COUNTED_TOKENS
from xmach.errors import ParameterError
from xmach.parameters import real, whole
from xmach.planning.sizes import FLOAT_BYTES

# What reading tables adds to the command's process: PyArrow's readers with pandas, and a block of rows; for text also
# a block of hashed texts.
SOURCE_BYTES = {"numbers": 0, "table": 68 * 2**20, "text": 76 * 2**20}
# Learning a vocabulary: a distinct token in a table that has just grown, and the most that three kinds can take; of the
# values that rows have, 2 to 4 in 100 were distinct tokens in the texts measured.
TOKEN_BYTES, DISTINCT_SHARE = 80, 0.05
LEARNING_BYTES = 144 * COUNTED_TOKENS  # three full tables of 32 bytes a token, and one that is made anew
NONZEROS_PER_ROW = 100.0  # of sparse rows, where nobody has counted


@dataclass(frozen=True)
class DataSize:
    """What is known of the rows; nothing known: no rows, of which nothing is counted."""

    n_rows: int = 0
    nonzeros_per_row: float = NONZEROS_PER_ROW
    labels_per_row: float = 1.0
    sparse: bool = True
    n_validation: int = 0
    source: str = "numbers"  # or a "table" of numbers, or a table of "text", read by the run itself
    vocabulary: int = 0  # tokens that the run learns from its text, and that have slots of their own
    choosing: bool = False  # whether the cost or the passes of linear buckets are chosen on a sample of the rows
    copied: bool = False  # whether the rows are a copy in memory, because others were held out

    def __post_init__(self) -> None:
        if self.source not in SOURCE_BYTES:
            raise ParameterError(f"source must be one of {', '.join(SOURCE_BYTES)}; got {self.source!r}")
        whole("n_rows", self.n_rows, 0)
        whole("n_validation", self.n_validation, 0)
        whole("vocabulary", self.vocabulary, 0)
        if self.vocabulary and self.source != "text":
            raise ParameterError(f"a vocabulary is of text, but source is {self.source!r}")
        real("nonzeros_per_row", self.nonzeros_per_row, 0, inf, with_low=True)
        real("labels_per_row", self.labels_per_row, 0, inf, with_low=True)

    def values(self, n_rows: int) -> int:
        """The stored values of `n_rows` sparse rows."""
        return ceil(n_rows * self.nonzeros_per_row)

    @property
    def vocabulary_bytes(self) -> int:
        """The keys of a vocabulary, and the table to look them up in: a power of two of places, two a key or more."""
        return 8 * (self.vocabulary + (1 << (2 * self.vocabulary - 1).bit_length())) if self.vocabulary else 0

    @property
    def learning_bytes(self) -> int:
        """What learning the vocabulary takes at most, by how many distinct tokens such rows may have."""
        return (
            min(LEARNING_BYTES, ceil(TOKEN_BYTES * DISTINCT_SHARE * self.values(self.n_rows))) if self.vocabulary else 0
        )

    def mapped_bytes(self, n_features: int) -> int:
        """The data files: columns and values (or a dense row), labels and their values, two 64-bit offsets."""
        n_rows = self.n_rows + self.n_validation
        features = 8 * self.values(n_rows) if self.sparse else FLOAT_BYTES * n_rows * n_features
        return features + ceil(8 * n_rows * self.labels_per_row) + 16 * n_rows


UNKNOWN = DataSize()
