"""Ranges of what a graph on floats computes, and that graph on 8-bit numbers."""
