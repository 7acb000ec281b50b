"""Operators on quantized numbers: whole numbers of 8 bits with the range of floats they stand for.
"""
