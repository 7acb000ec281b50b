"""Where values lie: lifetimes, places in the arena, arenas that executors share."""
