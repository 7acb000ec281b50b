"""Training steps and updates of weights."""
