"""Steps of training, and updates of weights."""
