"""Testing of operators and arrays, of this package and of its users."""
