"""Memory of values: lifetimes, offsets in the arena, arenas that executors share."""
