"""Floor 1: bytes, layout descriptors and who owns what. Knows nothing of NDArray."""
