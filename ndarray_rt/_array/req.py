"""Requests: what an operator does with an output."""

from __future__ import annotations

from enum import IntEnum

from ..errors import ParameterError


class Req(IntEnum):
    """MXNet's OpReqType."""

    kNullOp = 0  # compute nothing for this output
    kWriteTo = 1  # overwrite it
    kWriteInplace = 2  # overwrite it; it shares memory with an input
    kAddTo = 3  # add to its contents


kNullOp, kWriteTo, kWriteInplace, kAddTo = Req

GRAD_REQS = {"null": kNullOp, "write": kWriteTo, "add": kAddTo}


def parse_grad_req(text: object, what: str = "grad_req") -> Req:
    """'null', 'write' or 'add' as a request; ParameterError for anything else."""
    if isinstance(text, str) and text in GRAD_REQS:
        return GRAD_REQS[text]
    raise ParameterError(f"{what} got {text!r}, expected one of: {', '.join(GRAD_REQS)}")
