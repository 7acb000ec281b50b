"""gluon: blocks, parameters, layers, losses, trainer, model zoo; and initializers."""
