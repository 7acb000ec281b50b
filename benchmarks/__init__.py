"""Speed beside other runtimes and beside the same primitives in plain C, in one run, as ratios."""
