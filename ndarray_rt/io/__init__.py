"""Floor 5: data that comes from and goes to files: arrays, symbols, records, iterators."""

from ..public import shows

__all__: list[str] = []
__dir__ = shows(globals())
