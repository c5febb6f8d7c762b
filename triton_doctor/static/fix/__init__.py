"""Plans to edited files: the only side that imports libcst, and that only for files with something to edit.

In: findings with a `Plan`, and the bytes of their files. Out: the bytes after the edits, and the plans that could not
be carried out.

- A **change** is a value: drop this parameter, rename this string. It names a span.
- An **edit** replaces one stretch of text. Nothing else in the file moves.
- A **round** is find, plan, edit. Rounds go on until nothing that may be fixed is left.

Example: the change `DropParameter` of `unused` in `def copy(x, unused: tl.constexpr):` is the edit that replaces
`, unused: tl.constexpr` with nothing. The `DropArgument` of each launch goes with it, or neither is made.
"""
