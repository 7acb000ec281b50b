"""`mx.log`: loggers that write a line as MXNet's do: level, time, process and place, then the text.

Source: MXNet's `mx.log`.
"""

from __future__ import annotations

import logging
import warnings
from logging import CRITICAL, DEBUG, ERROR, INFO, NOTSET, WARNING

from .public import shows

__all__ = ["CRITICAL", "DEBUG", "ERROR", "INFO", "NOTSET", "WARNING", "getLogger", "get_logger"]
__dir__ = shows(globals())

_RED, _GREEN, _BLUE, _PLAIN = (f"\x1b[{code}m" for code in (31, 32, 34, 0))
_LETTERS = {CRITICAL: "C", ERROR: "E", WARNING: "W", INFO: "I", DEBUG: "D"}


class _Formatter(logging.Formatter):
    """Colours the head of a line by its level."""

    def __init__(self) -> None:
        place = "%(pathname)s:%(funcName)s:%(lineno)d"
        super().__init__(f"%(asctime)s %(process)d {place}]\t%(message)s", "%m%d %H:%M:%S")

    def format(self, record: logging.LogRecord) -> str:
        colour = (_RED if record.levelno >= WARNING else
                  _GREEN if record.levelno >= INFO else _BLUE)
        head, _, text = super().format(record).partition("\t")
        return f"{colour}{_LETTERS.get(record.levelno, 'U')}{head}{_PLAIN} {text}"


def get_logger(name: str | None = None, filename: str | None = None, filemode: str | None = None,
               level: int = WARNING) -> logging.Logger:
    """A logger of Python's with a handler and a level.

    It writes to `filename`, opened in `filemode` ("a"), or in colours to the standard error. The
    handler and the level are set by the first call for a name; the root logger stays as it is.
    """
    logger = logging.getLogger(name)
    if name is None or getattr(logger, "_ndrt_has_handler", False):
        return logger
    logger._ndrt_has_handler = True  # type: ignore[attr-defined]
    handler: logging.Handler
    if filename:
        handler = logging.FileHandler(filename, filemode or "a")
    else:
        handler = logging.StreamHandler()
        handler.setFormatter(_Formatter())
    logger.addHandler(handler)
    logger.setLevel(level)
    return logger


def getLogger(name: str | None = None, filename: str | None = None,  # noqa: N802 - MXNet's name
              filemode: str | None = None, level: int = WARNING) -> logging.Logger:
    """`get_logger` as it was called once."""
    warnings.warn("getLogger is deprecated, Use get_logger instead.", DeprecationWarning,
                  stacklevel=2)
    return get_logger(name, filename, filemode, level)
