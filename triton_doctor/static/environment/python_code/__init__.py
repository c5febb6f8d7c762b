"""Python syntax to the environment settings that a program makes, in itself and in what it starts.

In: the tree of a module and its text, and a reader for the shell commands in it. Out: `EnvSetting` values.

- **Bindings** follow names through imports and assignments of the module.
- A **setter** is a way to set a variable: `os.environ["X"] = "1"`, `env=dict(X="1")`, `monkeypatch.setenv`, a knob.
- A **guard** is a test that decides over a setting; what stands under one is not made for certain.
- The **order** of a setting is what the program has done before: imported triton, decorated kernels.

Example: `os.environ["TRITON_INTERPRET"] = "1"` gives `EnvSetting("TRITON_INTERPRET", "1", ...)` at its line.
"""
