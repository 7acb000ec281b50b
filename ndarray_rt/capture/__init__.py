"""Floor 3, after operators: runs recorded as native steps, and replayed while their guards hold."""
