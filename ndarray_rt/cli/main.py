"""The program: finds the command, and tells errors in one line."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from contextlib import redirect_stderr

from .. import __version__
from ..errors import MXNetError
from ..program import NAME, tell
from . import bench, check, convert, explain, info, quantize, run, tune
from .arguments import Parser

COMMANDS = (info, run, bench, explain, tune, convert, check, quantize)
INTERRUPTED = 130


def parser() -> argparse.ArgumentParser:
    """What the program takes."""
    made = Parser(
        prog=NAME, description="Looks at models in files, runs, measures, tunes, converts, "
                               "checks and quantizes them. Models are MXNet's (a -symbol.json file "
                               "with a .params file beside it) and ONNX files.")
    made.add_argument("--version", action="version", version=f"{NAME} {__version__}")
    commands = made.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for module in COMMANDS:
        command = commands.add_parser(module.NAME, help=module.HELP, description=module.__doc__)
        module.add_arguments(command)
        command.add_argument("--json", action="store_true",
                             help="one JSON object on the standard output, for programs")
        command.set_defaults(run=module.run)
    return made


def main(argv: Sequence[str] | None = None) -> int:
    """Runs a command; gives the program's exit code: 0, what the command found, or 2 after an
    error, which is told in one line."""
    if sys.stderr is None:  # it is closed: notes and bars go nowhere
        with open(os.devnull, "w", encoding="utf-8") as nowhere, redirect_stderr(nowhere):
            return _main(argv)
    return _main(argv)


def _main(argv: Sequence[str] | None) -> int:
    try:
        given = parser().parse_args(argv)
        if sys.stdout is None:
            raise MXNetError("the standard output is closed")
        code: int = given.run(given)
        sys.stdout.flush()
        return code
    except BrokenPipeError:
        # whoever read has seen enough
        _drop_output()
        return 0
    except KeyboardInterrupt:
        print(f"{NAME}: interrupted", file=sys.stderr)
        return INTERRUPTED
    except (MXNetError, OSError, ImportError, MemoryError) as error:
        try:
            if sys.stdout is not None:
                sys.stdout.flush()
        except OSError:
            _drop_output()
        return tell(error)


def _drop_output() -> None:
    """What could not be written is not tried again when the interpreter ends."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
