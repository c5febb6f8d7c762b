"""The steps of a Python program to the environment settings that it makes, in itself and in what it starts.

In: the `Trace` of a module, and a reader for the shell commands in it. Out: `EnvSetting` values.

- **Names** follow a name through the imports and the assignments of the module.
- A **setter** is a way to set a variable: `os.environ["X"] = "1"`, `env=dict(X="1")`, `monkeypatch.setenv`, a knob.
- A **guard** is a condition that decides over a setting; what stands under one is not made for certain.
- The **context** of a step is what holds while it runs: names, the function, guards, what a loop gives its targets.
- The **order** of a setting is what the program has done before: imported triton, decorated kernels.

Example: `os.environ["TRITON_INTERPRET"] = "1"` gives `EnvSetting("TRITON_INTERPRET", "1", ...)` at its line.
"""
