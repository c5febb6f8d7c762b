"""The steps of a Python program to the environment settings that it makes, for itself and for what it starts.

In: the `Trace` of a module, and a reader for shell commands in it. Out: `EnvSetting` values.

- A **setter** is a form that sets a variable: `os.environ["X"] = "1"`, `env=dict(X="1")`, `monkeypatch.setenv`, a knob.
- A **guard** is a condition over a setting; a guarded setting may not happen.
- The **context** of a step is what holds while it runs: names, the function, guards, and values of loop targets.
- The **order** of a setting is what ran before it: the import of triton, decorators of kernels.

Example: `os.environ["TRITON_INTERPRET"] = "1"` yields `EnvSetting("TRITON_INTERPRET", "1", ...)` at its line.

Files, in reading order:

- `settings`: the pass: picks the relevant lines, reads their steps, adds the run order.
- `setters`: steps to settings.
- `collected`: the settings found so far.
- `context`: the context of a step.
- `names`: what a name stands for at a step.
- `values`: the texts that an expression may have.
- `entries`: the entries of a dictionary expression.
- `guards`: conditions, and whether they hold in an ordinary run.
- `order`: the run order.
"""
