"""Floor 4, eager execution: calling operators on arrays, and the tape. Knows no front end."""
