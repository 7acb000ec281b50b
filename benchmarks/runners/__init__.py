"""One module a framework: each is run as a process of its own, in that framework's environment."""
