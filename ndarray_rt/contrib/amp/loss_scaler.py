"""A loss scale that grows until gradients overflow. Source: MXNet's amp.loss_scaler."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from typing import Any

from ... import autograd, nd
from ...public import shows

__all__ = ["LossScaler"]
__dir__ = shows(globals())

START, MOST = 2.0**16, 2.0**24
# so many steps without an overflow double the scale
PATIENCE = 2000
# arrays that are looked at by one call
MANY = 200


class LossScaler:
    """A dynamic loss scale: halved after gradients that are not finite, doubled after 2,000 steps
    with finite ones, at most 2^24."""

    def __init__(self) -> None:
        self._loss_scale = self._next_loss_scale = START
        self._max_loss_scale = MOST
        self._scale_seq_len = PATIENCE
        self._unskipped = 0

    @property
    def loss_scale(self) -> float:
        """What losses are multiplied by."""
        return self._loss_scale

    def has_overflow(self, params: Iterable[Any]) -> bool:
        """Whether a gradient of these Parameters is not finite; then the next scale is lower."""
        grads = [grad for param in params if param.grad_req != "null" for grad in param.list_grad()]
        with autograd.pause():
            finite = all(
                bool(nd.multi_all_finite(*grads[at:at + MANY], num_arrays=len(grads[at:at + MANY]))
                     .asscalar())
                for at in range(0, len(grads), MANY))
        self._loss_scale = self._next_loss_scale
        if not finite:
            self._next_loss_scale = self._loss_scale / 2.0
            self._unskipped = 0
            logging.info("AMP: decreasing loss scale to %f", self._next_loss_scale)
            return True
        self._unskipped += 1
        if self._unskipped == self._scale_seq_len:
            self._unskipped = 0
            self._next_loss_scale = min(self._max_loss_scale, self._loss_scale * 2.0)
            logging.info("AMP: increasing loss scale to %f", self._next_loss_scale)
        return False
