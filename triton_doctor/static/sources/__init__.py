"""Paths to files: which files are read, of which kind, and their bytes.

In: the paths that the user names, and the settings of their project. Out: a `Workspace` of `SourceFile`s;
`FileContents` reads their bytes on access.

- A **workspace** is the project around the paths: all its files, and which of them to report on.
- The **kind** of a file, Python or settings, decides which pass reads it.
- **File stamps** are digests, sizes and times. A file with an unchanged stamp need not be read again.
- A **text pattern** is a text search that must match before a file is worth parsing.
- A **directive** is a comment to this tool.

Example: `find_workspace([Path("src/attention.py")], settings, cwd=cwd)` finds the root of the project by its
`pyproject.toml`, lists all files below it that are not ignored, and reports on `src/attention.py` alone. From

    x = 1  # triton-doctor: ignore[TRD201] known

`read_python_directives` makes one `Directive` with the codes `("TRD201",)`.

Files, in reading order:

- `workspace`: the project of a path, or related files of an unmarked folder, and which to report on.
- `files`: walks folders and classifies files.
- `ignore_rules`: patterns of .gitignore files and of settings.
- `git_changes`: files that differ from a git revision.
- `contents`: bytes and stamps of files.
- `source_text`: text patterns, and positions in a text.
- `spellings`: whether a text has a name, and the code in Markdown.
- `directives`: comments to this tool.
- `notebooks`: notebooks as programs, and lines as lines of cells.
- `pinned_triton`: the release of Triton that a project uses.
- `shown_paths`: paths of findings relative to the working directory.
"""
