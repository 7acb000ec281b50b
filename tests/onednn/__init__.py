"""A check of oneDNN itself: does each of its kernels compute what it should, in the memory that it
asks for? `make check-onednn`."""
