"""Numbers of bytes as people write and read them."""

from __future__ import annotations

import re
from decimal import Decimal

from xmach.errors import ParameterError

_UNITS = {"": 1, "B": 1} | {
    f"{letter}{suffix}": base**power
    for power, letter in enumerate("KMGT", 1)
    for suffix, base in (("B", 1000), ("iB", 1024))
}
_SIZE = re.compile(r"([0-9]+(?:\.[0-9]+)?)\s*([A-Za-z]*)")


def human_bytes(n: float) -> str:
    """A number of bytes for people, in powers of 1024: `1.26 GiB`."""
    if n < 1024:
        return f"{n:.0f} B"
    for unit in ("KiB", "MiB", "GiB"):
        n /= 1024
        if n < 1023.995:  # more would print as 1024.00
            return f"{n:.2f} {unit}"
    return f"{n / 1024:.2f} TiB"


def parse_bytes(text: str, what: str = "a size") -> int:
    """`4GB` (10^9 each), `4GiB` (2^30 each), `512MB`, or plain bytes; `what` names the option in the error."""
    match = _SIZE.fullmatch(text.strip())
    unit = None if match is None else {name.lower(): size for name, size in _UNITS.items()}.get(match[2].lower())
    if match is None or unit is None:
        raise ParameterError(f"{what} takes a size such as 4GB, 4GiB, 512MB or a number of bytes, got {text!r}")
    size = int(Decimal(match[1]) * unit)
    if size < 1:
        raise ParameterError(f"{what} must be at least one byte, got {text!r}")
    return size
