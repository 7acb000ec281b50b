"""Tools around networks: tables and drawings, traces, features of the build."""
