"""Times of training by layer."""
