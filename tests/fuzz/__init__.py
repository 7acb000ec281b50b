"""Readers of files under random bytes: only ModelFormatError may come out of them."""
