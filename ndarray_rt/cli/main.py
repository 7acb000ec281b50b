"""The program: finds the command, and tells errors in one line."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence

from ..errors import MXNetError, shortened
from . import bench, check, convert, explain, info, run, tune

COMMANDS = (info, run, bench, explain, tune, convert, check)
FAILED, INTERRUPTED = 2, 130


def parser() -> argparse.ArgumentParser:
    """What the program takes."""
    made = argparse.ArgumentParser(
        prog="ndarray-rt", description="Looks at models in files, runs, measures, tunes, converts "
                                       "and checks them. Models are MXNet's (a -symbol.json file "
                                       "with a .params file beside it) and ONNX files.")
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
    given = parser().parse_args(argv)
    try:
        code: int = given.run(given)
        sys.stdout.flush()
        return code
    except BrokenPipeError:
        # whoever read has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt:
        print("ndarray-rt: interrupted", file=sys.stderr)
        return INTERRUPTED
    except (MXNetError, OSError, ImportError, MemoryError) as error:
        text = " ".join(shortened(str(error) or type(error).__name__).split())
        print(f"ndarray-rt: {text}", file=sys.stderr)
        return FAILED
