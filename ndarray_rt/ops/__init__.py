"""Floor 3, the operators: each module registers its own when it is imported."""
