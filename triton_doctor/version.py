"""The version of triton-doctor, and nothing that would have to be imported for it."""

__version__ = "0.1.0"
