"""Settings files: Dockerfiles, shell, YAML, TOML and their kind, written from parts, damaged, and checked."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from tests.fuzz.driver import Trial
from tests.fuzz.mutations import damage_bytes, damage_lines, damage_words, insert, mutate
from triton_doctor.cli import main

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path
    from random import Random

    from tests.fuzz.sources import Sources

_SETTINGS = (
    *(
        "TRITON_INTERPRET=1",
        "TRITON_INTERPRET='1'",
        "TRITON_DEBUG=1",
        "TRITON_ALWAYS_COMPILE=true",
        "TRITON_INTERPET=1",
    ),
    *(
        "TRITON_CACHE_DIR=/tmp/$USER/cache",
        "TRITON_CACHE_DIR=$(mktemp -d)",
        "CUDA_VISIBLE_DEVICES=",
        "TRITON_KERNEL_DUMP=1",
    ),
)
_COMMANDS = (
    *(
        "{0} python a.py",
        "export {0}",
        "env {0} python -m pytest -x",
        "docker run -e {0} -v a:/b image",
        "if [ $X ]; then {0} a; fi",
    ),
    *(
        'python -c "import os; os.environ[{1!r}] = {2!r}"',
        "echo {0} >> $GITHUB_ENV",
        "srun --export=ALL,{0} a.sh",
        "ssh h '{0} a'",
    ),
    *(
        "cat <<EOF > .env\n{0}\nEOF",
        "for i in 1 2; do {0} a & done; wait",
        "a && ({0} b || c) | d",
        "x=`{0} a` y=$({0} b)",
    ),
)


def _command(random: Random) -> str:
    setting = random.choice(_SETTINGS)
    name, _, value = setting.partition("=")
    return random.choice(_COMMANDS).format(setting, name, value)


def _dockerfile(random: Random) -> str:
    parts = ["FROM nvidia/cuda:12.4 AS base"]
    for _ in range(random.randint(1, 5)):
        setting = random.choice(_SETTINGS)
        parts.append(random.choice((f"ENV {setting} A=b \\\n  {setting}", f"ARG {setting}", f"RUN {_command(random)}",
                                    f"CMD {json.dumps(['sh', '-c', _command(random)])}", "FROM base", f"RUN <<EOF\n{_command(random)}\nEOF")))  # fmt: skip
    return "\n".join(parts)


def _shell(random: Random) -> str:
    return "#!/bin/bash\nset -e\n" + "\n".join(_command(random) for _ in range(random.randint(1, 6)))


def _yaml(random: Random) -> str:
    name, _, value = random.choice(_SETTINGS).partition("=")
    command = _command(random).replace("\n", "\n          ")
    return (
        f"on: push\nx: &common\n  env: {{{name}: {json.dumps(value)}}}\njobs:\n  a:\n    <<: *common\n    env:\n"
        f"      {name}: {value!r}\n    steps:\n      - run: |\n          {command}\n      - name: {name}\n        value: {value!r}\n"
        f"    environment:\n      - {name}={value}\n    volumes: [a:/tmp]\n"
    )


def _toml(random: Random) -> str:
    name, _, value = random.choice(_SETTINGS).partition("=")
    return (
        f"[tool.pytest.ini_options]\nenv = [{json.dumps(f'{name}={value}')}]\n[env]\n{name} = {json.dumps(value)}\n"
        f"[tool.poe.tasks]\na = {json.dumps(_command(random))}\n[tool.pixi.activation.env]\n{name} = 1\n"
    )


def _notebook(random: Random) -> str:
    name, _, value = random.choice(_SETTINGS).partition("=")
    cells = (
        *(
            f"%env {name}={value}",
            f"!{_command(random)}",
            f"%%bash\n{_command(random)}",
            "# -*- coding: utf-16 -*-\nx?",
        ),
        *(
            f"import os\nos.environ[{name!r}] = {value!r}",
            f"%%timeit\n!{_command(random)} \\\n  b",
            f"x = !{_command(random)}",
        ),
    )
    chosen = [{"cell_type": "code", "source": random.choice(cells).splitlines(keepends=True)} for _ in range(4)]
    return json.dumps(
        {"cells": chosen, "nbformat": 4}, indent=random.choice((None, 1)), ensure_ascii=random.random() < 0.5
    )


def _unparsed(random: Random) -> str:
    name, _, value = random.choice(_SETTINGS).partition("=")
    form = random.choice(
        ("{0}={1}", "export {0} := {1}", "$env:{0} = '{1}'", "set {0}={1}", '{{"env": {{"{0}": "{1}"}}}}')
    )
    return f"[testenv]\n{form.format(name, value)}\nall:\n\t{_command(random)}\n"


def _assignments(random: Random) -> str:
    return "\n".join(random.choice(("", "export ")) + random.choice(_SETTINGS) for _ in range(4))


_WRITERS: dict[str, Callable[[Random], str]] = {
    **dict.fromkeys(("Dockerfile", "a.dockerfile"), _dockerfile),
    **dict.fromkeys(("a.sh", "a.sbatch", ".bashrc", "a.fish"), _shell),
    **dict.fromkeys(("a.yml", "docker-compose.yml", ".github/workflows/a.yaml", "values.yaml.j2"), _yaml),
    **dict.fromkeys(("pyproject.toml", "a.toml"), _toml),
    **dict.fromkeys(("tox.ini", "Makefile", "Jenkinsfile", "a.service", "a.ps1", "launch.json"), _unparsed),
    **dict.fromkeys(("a.ipynb", "b.ipynb"), _notebook),
    ".env": _assignments,
}
HOSTILE = (
    b"a: &a {x: *a, y: *a}",
    b"a: &a [b]\nb: &b [*a, *a, *a, *a]\nc: &c [*b, *b, *b, *b]\nd: [*c, *c, *c, *c]",
    b"[" * 3000,
    b"{" * 3000,
    b"((" * 1000,
    b"$(" * 1000,
    b"`" * 999,
    b'"' * 999,
    b"'" * 999,
    b"${" * 1000,
    b"$((" * 500,
    b"if " * 500,
    b"<<A <<B <<C",
    b"<<EOF\n" * 100,
    b"\\\n" * 1000,
    b"TRITON_INTERPRET=" + b"9" * 5000,
    b"TRITON_INTERPRET=" + b"$X" * 3000,
    b"python -c '" + b"+".join([b"1"] * 3000) + b"'",
    b"python <<EOF\nimport os\nos.environ['TRITON_INTERPRET'] = " + b"-" * 2000 + b"1\nEOF",
    b"sh -c \"sh -c 'sh -c TRITON_INTERPRET=1'\"",
    b"eval " * 500 + b"TRITON_INTERPRET=1 a",
    b"env " * 500 + b"TRITON_INTERPRET=1 a",
    b"\xef\xbb\xbf",
    b"\xff\xfeT\0R\0I\0",
    b"# triton-doctor: ignore[TRD1] \xe2\x80\xa8",
    b"x = 1979-05-27T07:32:00Z",
    b"- " * 2000,
    b"? " * 500,
    b"!!python/object:os.system a",
    b"%YAML 9.9\n---",
    b"include Makefile\n-include a.mk\n$(eval $(call a))",
)
MUTATIONS = (damage_bytes, damage_bytes, damage_lines, damage_words, damage_words, insert(HOSTILE))


def make_trial(random: Random, sources: Sources) -> Trial:
    """Three files beside a program of kernels."""
    names = random.sample(sorted(_WRITERS), 3)
    files = {name: mutate(_WRITERS[name](random).encode(), MUTATIONS, random) for name in names}
    # Ours are read from there: what is wrong with them is an error of the user's, with exit status 2.
    files = {name: data.replace(b"triton-doctor", b"triton doctor") for name, data in files.items()}

    def run(folder: Path) -> str | None:
        status = main(["check", "--no-cache", "--output-format", "sarif", str(folder)])
        return None if status in (0, 1) else f"check ended with {status}"

    return Trial(files=files, run=run)
