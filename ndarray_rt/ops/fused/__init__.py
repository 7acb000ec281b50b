"""Operators that passes make of several: a convolution with all that follows it, folded weights.

They are for inference, have no gradient, and are no part of what users compose.
"""
