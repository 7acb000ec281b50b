"""Files of records, image files, augmenters and iterators over images."""
