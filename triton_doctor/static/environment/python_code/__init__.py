"""The statements of a Python program to the environment settings that it makes, for itself and for what it starts.

In: the syntax tree of a module, its text, and a reader for shell commands in it. Out: `EnvSetting` values.

- A **scope** is a function, or the top level of a module with its class bodies, with all that it assigns to each name.
- A **setter** is a form that sets a variable: `os.environ["X"] = "1"`, `env=dict(X="1")`, `monkeypatch.setenv`, a knob.
- A **condition** is a test with an outcome. A setting is guarded if a condition that an ordinary run may not meet is
  around it, or around every call of its function.
- The **order** of a setting is what ran before it: the import of triton, decorators of kernels.

Example: `os.environ["TRITON_INTERPRET"] = "1"` yields `EnvSetting("TRITON_INTERPRET", "1", ...)` at its line.

Files, in reading order:

- `program`: the walk over the statements, with the conditions, loops and calls around a setting, and the order.
- `setters`: expressions and assignments to settings.
- `possible_texts`: the texts that an expression may have, and the entries of a dictionary.
- `names`: what a name stands for, and whether a condition holds in an ordinary run.
"""
