"""Batch tiles: a few samples at a time, in lanes of one thread each."""
