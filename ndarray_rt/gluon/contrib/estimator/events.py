"""The events of training: a handler is a subclass of those that it wants to be called for."""

from __future__ import annotations

from typing import Any

from ....errors import ParameterError


class EventHandler:
    """The base of all handlers. Those with a lower `priority` are called first; 0 without."""


class TrainBegin(EventHandler):
    """A handler that is called before training."""

    def train_begin(self, estimator: Any, *args: Any, **kwargs: Any) -> Any:
        """Called before the first epoch."""


class TrainEnd(EventHandler):
    """A handler that is called after training."""

    def train_end(self, estimator: Any, *args: Any, **kwargs: Any) -> Any:
        """Called after the last epoch."""


class EpochBegin(EventHandler):
    """A handler that is called before each epoch."""

    def epoch_begin(self, estimator: Any, *args: Any, **kwargs: Any) -> Any:
        """Called before an epoch."""


class EpochEnd(EventHandler):
    """A handler that is called after each epoch."""

    def epoch_end(self, estimator: Any, *args: Any, **kwargs: Any) -> Any:
        """Called after an epoch; True ends training."""
        return False


class BatchBegin(EventHandler):
    """A handler that is called before each batch."""

    def batch_begin(self, estimator: Any, *args: Any, **kwargs: Any) -> Any:
        """Called with `batch` before it is computed."""


class BatchEnd(EventHandler):
    """A handler that is called after each batch."""

    def batch_end(self, estimator: Any, *args: Any, **kwargs: Any) -> Any:
        """Called with `batch`, `pred`, `label` and `loss`; True ends the epoch."""
        return False


def check_event_handlers(handlers: Any) -> list[EventHandler]:
    """A list of handlers from one, several or none; ParameterError for anything else."""
    if isinstance(handlers, EventHandler):
        return [handlers]
    found = list(handlers or [])
    if not all(isinstance(one, EventHandler) for one in found):
        raise ParameterError("handlers must be an EventHandler or a list of EventHandler, got: "
                             f"{handlers}")
    return found
