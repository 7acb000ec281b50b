"""Floor 4, execution: a graph bound to arrays, run step by step."""

from ..symbol import hooks
from .bind import bind, evaluate, simple_bind
from .executor import Executor
from .optimize_for import optimize_for
from .pool import ExecutorPool
from .update import Trained, Update

hooks.provide(bind=bind, simple_bind=simple_bind, eval=evaluate,
              optimize_for=optimize_for)

__all__ = ["Executor", "ExecutorPool", "Trained", "Update", "bind", "evaluate", "optimize_for",
           "simple_bind"]
