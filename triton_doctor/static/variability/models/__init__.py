"""What is known of calls out of the project: Python's, Triton's and torch's."""
