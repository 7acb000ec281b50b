"""Floor 4, execution: a graph bound to arrays, run step by step."""

from ..symbol import hooks
from .bind import bind, evaluate, simple_bind
from .executor import Executor

hooks.provide(bind=bind, simple_bind=simple_bind, eval=evaluate)

__all__ = ["Executor", "bind", "evaluate", "simple_bind"]
