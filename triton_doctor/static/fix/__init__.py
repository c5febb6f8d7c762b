"""Plans to edited files. The only pass that imports libcst, and only for files with something to edit.

In: findings with a `Plan`, and the bytes of their files. Out: the bytes after the edits, and the plans that failed.

- A **change** is a value: drop this parameter, rename this string. It refers to a span.
- An **edit** replaces one stretch of text. Nothing else in the file moves.
- A **round** is find, plan, edit. Rounds are repeated until nothing fixable is left.

Example: the change `DropParameter` of `unused` in `def copy(x, unused: tl.constexpr):` becomes the edit that replaces
`, unused: tl.constexpr` with nothing. The `DropArgument` of each launch is made with it, or neither is.

Files, in reading order:

- `rounds`: the pass.
- `apply`: fixes of one round, and those that conflict.
- `edits`: changes to edits. `listed`, `statements`: edits of lists and statements.
- `tree`, `text`: nodes of libcst at a span, and lossless text.
- `write`: files to disk.
"""
