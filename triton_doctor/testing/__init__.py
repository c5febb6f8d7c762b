"""What the pytest plugin knows about compiles: whose they are, whether they are too many, whether they are known."""
