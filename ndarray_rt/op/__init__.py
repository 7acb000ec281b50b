"""Floor 3, the frame of operators: parameters, registry, inference, dispatch. Holds no operator."""
