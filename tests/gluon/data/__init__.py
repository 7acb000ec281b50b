"""gluon.data: datasets, samplers, loaders."""
