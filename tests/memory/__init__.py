"""Memory: who holds how much, and that nothing grows."""
