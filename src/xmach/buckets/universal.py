"""The 2-universal family h(x) = ((a x + b) mod p) mod B of Carter and Wegman, as in the paper's background section."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from xmach.block_sizes import HASHED_LABELS
from xmach.errors import InputError
from xmach.parameters import MOST_REPETITIONS, whole
from xmach.types import AnyArray, IntArray

_LIMIT = 2**32 - 5  # the largest prime below 2^32: a x + b stays within unsigned 64-bit arithmetic
_MOST_LABELS = 2**31 - 1  # label ids are 32-bit integers everywhere else


def is_prime(number: int) -> bool:
    """Return whether a number below 2^64 is prime: Miller-Rabin, exact with these bases."""
    bases = (2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37)
    if number < 2:
        return False
    for base in bases:
        if number % base == 0:
            return number == base
    odd, twos = number - 1, 0
    while odd % 2 == 0:
        odd, twos = odd // 2, twos + 1
    for base in bases:
        power = pow(base, odd, number)
        if power in (1, number - 1):
            continue
        for _ in range(twos - 1):
            power = power * power % number
            if power == number - 1:
                break
        else:
            return False
    return True


def next_prime(number: int) -> int:
    """Return the smallest prime that is at least `number`."""
    while not is_prime(number):
        number += 1
    return number


@dataclass(frozen=True, repr=False)
class UniversalHashes:
    """R independent hashes of labels 0..K-1 into B buckets; `h_r(x) = ((a[r] x + b[r]) mod p) mod B`."""

    n_labels: int
    n_buckets: int
    prime: int
    a: tuple[int, ...]  # each in [1, p)
    b: tuple[int, ...]  # each in [0, p)

    def __repr__(self) -> str:
        sizes = f"{self.n_labels:,} labels into {self.n_buckets:,} buckets"
        return f"<UniversalHashes: {self.n_repetitions} hashes of {sizes}, prime={self.prime}>"

    @classmethod
    def draw(
        cls, n_labels: int, n_buckets: int, n_repetitions: int, seed: int = 0, capacity: int | None = None
    ) -> UniversalHashes:
        """Draw R hashes from one seed, the same on every platform.

        `capacity` >= n_labels leaves room for later labels: p is the smallest prime that is at least `capacity` and B.
        """
        n_labels = whole("n_labels", n_labels, 1, _MOST_LABELS)
        n_buckets = whole("n_buckets", n_buckets, 2, 2**31 - 1)
        capacity = n_labels if capacity is None else whole("capacity", capacity, n_labels, _LIMIT)
        prime = next_prime(max(capacity, n_buckets, 2))
        # Philox is counter-based and its raw 64-bit output is fixed by its definition; Generator methods may change
        # between NumPy versions, so numbers are drawn from the raw stream by rejection.
        bits = np.random.Philox(key=_key(seed))
        a = tuple(
            1 + _below(bits, prime - 1) for _ in range(whole("n_repetitions", n_repetitions, 1, MOST_REPETITIONS))
        )
        b = tuple(_below(bits, prime) for _ in range(n_repetitions))
        return cls(n_labels, n_buckets, prime, a, b)

    @property
    def n_repetitions(self) -> int:
        """R."""
        return len(self.a)

    @property
    def dtype(self) -> np.dtype[Any]:
        """The smallest unsigned integer type that holds a bucket."""
        return np.dtype(np.min_scalar_type(self.n_buckets - 1))

    @cached_property
    def collision_probability(self) -> float:
        """Pr[h(x) = h(y)] for x != y over draws of (a, b): a little under 1/B, as p is finite.

        (a x + b, a y + b) is uniform over ordered pairs of distinct residues; with p = q B + t, t buckets hold q + 1
        residues and B - t hold q.
        """
        q, t = divmod(self.prime, self.n_buckets)
        pairs = t * (q + 1) * q + (self.n_buckets - t) * q * (q - 1)
        return pairs / (self.prime * (self.prime - 1))

    def buckets(self, ids: AnyArray, repetition: int) -> IntArray:
        """Return the buckets of the given label ids in one repetition."""
        labels = np.asarray(ids)
        if labels.size and (labels.dtype.kind not in "iu" or labels.min() < 0 or labels.max() >= self.prime):
            raise InputError(f"label ids must be whole numbers from 0 to {self.prime - 1}")
        x = labels.astype(np.uint64)
        a, b = np.uint64(self.a[repetition]), np.uint64(self.b[repetition])
        return ((a * x + b) % np.uint64(self.prime) % np.uint64(self.n_buckets)).astype(np.int64)

    def signatures(self) -> AnyArray:
        """Return the (K, R) table of buckets, in the smallest integer type; built in chunks of labels."""
        table = np.empty((self.n_labels, self.n_repetitions), dtype=self.dtype)
        for start in range(0, self.n_labels, HASHED_LABELS):
            stop = min(start + HASHED_LABELS, self.n_labels)
            ids = np.arange(start, stop)
            for r in range(self.n_repetitions):
                table[start:stop, r] = self.buckets(ids, r)
        return table

    def rule(self, repetition: int) -> tuple[AnyArray, int, int, int, int]:
        """Return (table, a, b, p, B) for a kernel to find buckets with; the table of a hash is empty."""
        none = np.empty(0, np.uint16 if self.n_buckets <= 2**16 else np.uint32)
        return none, self.a[repetition], self.b[repetition], self.prime, self.n_buckets

    def subset(self, repetitions: Sequence[int]) -> UniversalHashes:
        """Keep some repetitions only, renumbered from 0."""
        a, b = (tuple(numbers[r] for r in repetitions) for numbers in (self.a, self.b))
        return UniversalHashes(self.n_labels, self.n_buckets, self.prime, a, b)

    def only(self, repetition: int) -> UniversalHashes:
        """Return what the training of one repetition needs: all of it, as hashes are small."""
        return self

    def to_dict(self) -> dict[str, Any]:
        """Return the hashes as plain numbers, for a plan."""
        return {
            "n_labels": self.n_labels,
            "n_buckets": self.n_buckets,
            "prime": self.prime,
            "a": list(self.a),
            "b": list(self.b),
        }

    @classmethod
    def from_dict(cls, numbers: dict[str, Any]) -> UniversalHashes:
        """Rebuild the hashes from `to_dict`."""
        return cls(
            int(numbers["n_labels"]),
            int(numbers["n_buckets"]),
            int(numbers["prime"]),
            tuple(int(a) for a in numbers["a"]),
            tuple(int(b) for b in numbers["b"]),
        )


def _key(seed: int) -> int:
    """Return a 128-bit Philox key: the seed in the low half, 'buckets' in the high half, unlike any other stream."""
    return (int.from_bytes(b"buckets", "big") << 64) | (int(seed) & (2**64 - 1))


def _below(bits: np.random.Philox, limit: int) -> int:
    """Draw a uniform number in [0, limit) from raw 64-bit draws; those in the incomplete last stretch are rejected."""
    stretch = 2**64 - 2**64 % limit
    while True:
        number = int(bits.random_raw())
        if number < stretch:
            return number % limit
