"""What forward() of a captured executor costs above its plan, run by a loop in C."""
