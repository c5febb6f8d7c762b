"""Functions to the calls that reach them, and kernels to what is known of their surroundings.

In: a project. Out: the callers of a function anywhere in the project, whether anything but tests and examples may run
it, and whether code that Triton calls may ask for a parameter by name.

Example: a function that only `if __name__ == "__main__"` of its own file calls, in a file that nobody imports, is a
**trial** of its kernels, so that a finding in it is information only.
"""
