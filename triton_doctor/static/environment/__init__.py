"""Text to settings: which environment variables a file sets, to what, in which form, and when.

In: the bytes of a settings file, or the syntax tree of a Python file. Out: an `EnvironmentFile` with one `EnvSetting`
for each variable of interest that is set.

- A setting is **guarded** if a flag, an argument or another variable decides whether it happens.
- It is **brief** if it is undone at the end of a block, or applies to one command only.
- A folder is **fleeting** if it does not outlive a process, job or container.
- The **run order** of a setting is what had run before: the import of Triton, the decorators of kernels.

Example: `read_settings("Dockerfile", b"ENV TRITON_INTERPRET=1")` returns

    EnvSetting(variable="TRITON_INTERPRET", value="1", how="ENV", guarded=False, ...)

Files, in reading order:

- `setting`: the classes above, and comments that explain a setting.
- `read_file`: settings files; chooses a reader of `settings_files` by kind.
- `settings_files/`: one reader for each kind of settings file.
- `read_python`: Python files; also finds where they measure time.
- `python_code/`: the settings in the statements of a Python program.
"""
