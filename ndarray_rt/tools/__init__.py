"""Programs for files of images: `python -m ndarray_rt.tools.im2rec`, `... .rec2idx`."""
