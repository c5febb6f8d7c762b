"""The environment side: facts of this machine, what is wrong with it, and what lies in its cache of kernels."""
