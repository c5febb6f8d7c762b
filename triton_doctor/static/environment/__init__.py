"""Text to settings: which environment variables a file sets, to what, how and when.

In: the bytes of a settings file, or the `Trace` of a Python file. Out: an `EnvironmentFile` with one `EnvSetting`
for each variable of interest that is set.

- A setting is **guarded** where a flag, an argument or another variable decides whether it happens.
- It is **brief** where it is undone at the end of a block, or reaches one command alone.
- A folder is **fleeting** where it outlives no process, job or container.
- The **run order** of a setting is what had run before: the import of Triton, the decorators of kernels.

`settings_files` has one reader a kind of file; `read_file` chooses among them. `python_code` reads Python.

Example: `read_settings("Dockerfile", b"ENV TRITON_INTERPRET=1")` gives

    EnvSetting(variable="TRITON_INTERPRET", value="1", how="ENV", guarded=False, ...)
"""
