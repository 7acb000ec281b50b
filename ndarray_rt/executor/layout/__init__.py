"""Which layouts and kernels the nodes of a graph get."""
