"""Floor 4, passes: graph to graph and graph to plan. Runs nothing."""
