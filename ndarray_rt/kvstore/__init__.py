"""Stores of weights by key, which sum what several contexts push. Source: MXNet's `mx.kvstore`."""

from __future__ import annotations

from ..public import shows
from .base import KVStoreBase, TestStore, create
from .kvstore import KVStore

__all__ = ["KVStore", "KVStoreBase", "TestStore", "create"]
__dir__ = shows(globals())
