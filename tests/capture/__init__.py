"""Tests of capture/: what is recorded, deferred and replayed."""
