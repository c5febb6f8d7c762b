"""Settings files to settings: one reader for each kind of file that sets environment variables, except Python.

In: the text of a file. Out: `EnvSetting` values with spans in characters, in order of lines. A file that does not parse
sets nothing. A reader takes time proportional to the text, whatever the text is.

Example: `read_shell("export TRITON_INTERPRET=1")` returns `(EnvSetting("TRITON_INTERPRET", "1", ...),)`, and
`read_dockerfile` passes the commands of `RUN` to it.

Files, in reading order:

- `shell`: shell text, the core of most readers: pipelines, groups, here-documents.
- `shell_words`: the lexer: words, operators, substitutions.
- `shell_commands`: one command: assignments, `export`, `env`, nested commands.
- `shell_options`: options that pass variables on: `docker run -e X=1`.
- `shell_guards`: conditions: `if`, `&&`, `||`.
- `shell_printed`: settings printed to a file of variables: `echo X=1 >> $GITHUB_ENV`.
- `dockerfile`: contains shell commands. `images`: whether what it installs has a C compiler.
- `yaml`: compose files, workflows, manifests; folders mounted into containers.
- `shared_folders`: cache folders that ranks share over the network.
- `toml`: project files and test runners.
"""
