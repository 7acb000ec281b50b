"""Floor 2: arrays, views, reuse and access to layouts. Knows nothing of operators."""
