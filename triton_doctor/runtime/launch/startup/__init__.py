"""The folder that `run` puts first on PYTHONPATH."""
