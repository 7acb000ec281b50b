"""Stores of weights by key, which sum what several contexts push. Source: MXNet's `mx.kvstore`."""

from __future__ import annotations

from .base import KVStoreBase, TestStore, create
from .kvstore import KVStore

__all__ = ["KVStore", "KVStoreBase", "TestStore", "create"]
