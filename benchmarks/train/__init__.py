"""Steps of training in several front ends and frameworks."""
