"""The storage state machine: a model of storages, and mixins of rules by theme."""
