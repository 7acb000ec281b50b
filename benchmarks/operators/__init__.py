"""Single operators side by side: the cost of a small call, the throughput of large arrays."""
