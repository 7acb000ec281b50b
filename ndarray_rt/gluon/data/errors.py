"""Exceptions of `gluon.data`."""

from __future__ import annotations

import multiprocessing

from ...errors import NdrtError


class BatchTimeout(NdrtError, multiprocessing.TimeoutError, TimeoutError):
    """A worker has not made its batch in time; MXNet raises multiprocessing's TimeoutError."""


class RemoteTraceback(Exception):
    """The cause of an exception from a worker process: where it was raised there, as text."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.text = text

    def __str__(self) -> str:
        return f'\n"""\n{self.text}"""'
