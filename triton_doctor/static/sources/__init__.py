"""Paths to files: which are read, what kind each is, and what they hold.

In: the paths that the user names, and the settings of their project. Out: a `Workspace` of `SourceFile`s, whose
bytes `FileContents` reads when somebody asks for them.

- A **workspace** is the project around the paths: its files, and which of them to report on.
- The **kind** of a file, Python or settings, decides who reads it.
- **File stamps** are sizes and times by which a file that has not changed need not be read again.
- A **text pattern** is what a text must contain to say a certain thing. It is searched for before a file is parsed.
- A **directive** is a comment to this tool.

Example: `find_workspace([Path("src/attention.py")], settings, cwd=cwd)` finds the root of the project by its
`pyproject.toml`, lists all files below it that are not ignored, and reports on `src/attention.py` alone. From

    x = 1  # triton-doctor: ignore[TRD201] known

`read_python_directives` gives one `Directive` with the codes `("TRD201",)`.
"""
