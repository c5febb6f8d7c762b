"""Settings in code and in files: which environment variables a project sets, where, and when that happens."""
