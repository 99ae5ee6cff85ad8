"""The commands, and what becomes of errors: one line on stderr and an exit code, no traceback for a user's mistake."""

from __future__ import annotations

import os
import signal
import sys
from typing import Annotated, cast

import typer

from xmach.cli.ask import ask
from xmach.cli.check import check
from xmach.cli.demo import demo
from xmach.cli.evaluate import evaluate
from xmach.cli.index import index
from xmach.cli.inspect import inspect
from xmach.cli.plan import plan
from xmach.cli.predict import predict
from xmach.cli.serve import serve
from xmach.cli.synth import synth
from xmach.cli.train import train
from xmach.errors import DataFileError, Diverged, InputError, ModelError, XmachError
from xmach.version import __version__

FAILED, BAD_INPUT, BAD_MODEL = 1, 2, 3
_INTERRUPTED = 130  # what typer makes of Ctrl-C
# by way of its subclass, because some versions of typer bring a click of their own
_UsageError = cast(type[Exception], typer.BadParameter.__mro__[1])

app = typer.Typer(
    name="xmach", no_args_is_help=True, add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False
)
for command in (train, predict, evaluate, serve, ask, plan, inspect, index, check, demo):
    app.command()(command)
app.add_typer(synth, name="synth")


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"xmach {__version__}")
        raise typer.Exit


@app.callback()
def about(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Extreme classification in log memory: MACH, merged-average classifiers via hashing."""


def main() -> None:
    """Run the command line and exit with 0 done, 2 bad usage or input, 3 model unusable, 1 anything else."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # as Ctrl-C; training saves where it is first
    try:
        code = app(standalone_mode=False)
    except _UsageError as error:
        sys.exit(_fail(error.format_message(), BAD_INPUT))  # type: ignore[attr-defined]
    except ModelError as error:
        sys.exit(_fail(str(error), BAD_MODEL))
    except (InputError, DataFileError, Diverged) as error:
        sys.exit(_fail(str(error), BAD_INPUT))
    except XmachError as error:
        sys.exit(_fail(str(error), FAILED))
    except (KeyboardInterrupt, typer.Abort):
        code = _INTERRUPTED
    except BrokenPipeError:  # the reader of stdout has gone, as `| head` does
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(FAILED)
    except OSError as error:
        sys.exit(_fail(str(error), FAILED))
    if code == _INTERRUPTED:
        sys.exit(_fail("stopped", FAILED))
    sys.exit(code if isinstance(code, int) else 0)


def _fail(message: str, code: int) -> int:
    print(" ".join(message.split()), file=sys.stderr)
    return code
