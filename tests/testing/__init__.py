"""Tests of ndarray_rt.testing: each check finds faults and passes what is right."""
