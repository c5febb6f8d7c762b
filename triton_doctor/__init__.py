"""triton-doctor: what makes Triton kernels recompile or run in the wrong mode. Nothing heavy is imported here."""

__version__ = "0.1.0"
