"""A planned graph: its steps, its arrays, and how they are run."""
