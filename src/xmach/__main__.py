"""`python -m xmach` is the `xmach` command."""

from xmach.cli import main

main()
