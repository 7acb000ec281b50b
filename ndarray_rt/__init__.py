"""A standalone NDArray runtime for CPUs in the manner of MXNet 1.x, computing with oneDNN."""
