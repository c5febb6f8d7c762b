"""A project to its findings: one file a rule, with its check and its fix.

In: a `Project`, the kernels of one file with all their launches and settings. Out: each `Finding`, with its `Plan`
where a fix is known.

- A **check** reads the project and yields findings. It changes nothing, and knows no other rule.
- A **plan** says which edits would fix a finding, and whether they are safe. It makes none.
- A **rule** is both, under the code of a page in `rules/`: the last line of each file.

To add TRD212: write `rules/TRD212-some-name.md`, and here `some_name.py` with `CODE`, `check` and
`RULE = Rule(code=CODE, check=check)`. Nothing lists it: `registry.all_rules` finds the file.

For `autotune_key_unknown.py`:

    @triton.autotune(configs=[...], key=["n", "m"])    TRD303 at "m": the kernel has no such parameter
    @triton.jit
    def copy(x, n): ...
"""
