"""The `xmach` command: one file a command; a command loads its modules when it is called."""

from xmach.cli.app import main

__all__ = ["main"]
