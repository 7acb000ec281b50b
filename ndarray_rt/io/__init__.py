"""Floor 5: data that comes from and goes to files: arrays, symbols, records, iterators."""
