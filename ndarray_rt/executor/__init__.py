"""Floor 4, execution: a graph bound to arrays, run step by step."""

from typing import TYPE_CHECKING

from ..public import loads, shows
from ..symbol import hooks
from .bind import bind, evaluate, simple_bind
from .executor import Executor
from .optimize_for import get_backend_symbol, optimize_for
from .training.update import Trained, Update
from .tuning.file import clear_tuning, load_tuning, save_tuning, tuning_stats

if TYPE_CHECKING:
    from .pool import ExecutorPool
    from .tuning.search import Tuned

hooks.provide(bind=bind, simple_bind=simple_bind, eval=evaluate, optimize_for=optimize_for,
              get_backend_symbol=get_backend_symbol)

__all__ = ["Executor", "ExecutorPool", "Trained", "Tuned", "Update", "bind", "clear_tuning",
           "evaluate", "load_tuning", "optimize_for", "save_tuning", "simple_bind", "tuning_stats"]
__getattr__ = loads(globals(), {
    "ExecutorPool": "pool:ExecutorPool", "Tuned": "tuning.search:Tuned"})
__dir__ = shows(globals())
