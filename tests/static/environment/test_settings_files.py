"""Every way in which files other than Python set a variable, and what only looks like one."""

from __future__ import annotations

import json
from textwrap import dedent

import pytest

from tests.settings_of import settings_of, turned_on
from triton_doctor.regular_files import TooLargeError
from triton_doctor.static.environment.read_file import read_settings

WORKFLOW = ".github/workflows/ci.yml"


def notebook(*cells: str) -> str:
    """A notebook of code cells, as Jupyter writes it."""
    code = [{"cell_type": "code", "metadata": {}, "outputs": [], "source": cell.splitlines(True)} for cell in cells]
    text = {"cell_type": "markdown", "metadata": {}, "source": ["set `TRITON_INTERPRET=1` to debug"]}
    return json.dumps({"cells": [text, *code], "nbformat": 4, "nbformat_minor": 5}, indent=1)


SETTINGS = [
    ("Dockerfile", "FROM x\nENV TRITON_INTERPRET=1\n"),
    ("Dockerfile", "FROM x\nENV TRITON_INTERPRET 1\n"),
    ("Dockerfile", 'FROM x\nenv TRITON_INTERPRET="1"\n'),
    ("Dockerfile", "FROM x\nENV A=b \\\n    # why\n    TRITON_INTERPRET=1 \\\n    C=d\n"),
    ("Dockerfile", "FROM x\nARG TRITON_INTERPRET=1\n"),
    ("Dockerfile", "FROM x\nARG ON=1\nENV TRITON_INTERPRET=$ON\n"),
    ("Dockerfile", "FROM x\nENV TRITON_INTERPRET=${ON:-1}\n"),
    ("Dockerfile", "FROM x\nRUN export TRITON_INTERPRET=1 && pytest\n"),
    ("Dockerfile", "FROM x\nRUN cd /x && \\\n    TRITON_INTERPRET=1 pytest\n"),
    ("Dockerfile", "FROM x\nRUN --mount=type=cache,target=/var/cache/pip TRITON_INTERPRET=1 pytest\n"),
    ("Dockerfile", "FROM x\nRUN <<EOF\nset -e\nexport TRITON_INTERPRET=1\npytest\nEOF\n"),
    ("Dockerfile", "FROM x\nRUN echo 'export TRITON_INTERPRET=1' >> ~/.bashrc\n"),
    ("Dockerfile", 'FROM x\nCMD ["sh", "-c", "TRITON_INTERPRET=1 python serve.py"]\n'),
    ("Dockerfile", 'FROM x\nENTRYPOINT ["env", "TRITON_INTERPRET=1", "python"]\n'),
    ("docker/Dockerfile.cuda", "FROM x\r\nENV TRITON_INTERPRET=1\r\n"),
    ("serve.dockerfile", "FROM x\nENV TRITON_INTERPRET=true\n"),
    ("Containerfile", "FROM x\nENV TRITON_INTERPRET=on\n"),
    ("compose.yaml", "services:\n  a:\n    environment:\n      TRITON_INTERPRET: 1\n"),
    ("docker-compose.yml", "services:\n  a:\n    environment:\n      - TRITON_INTERPRET=1\n"),
    ("docker-compose.yml", 'services:\n  a:\n    environment: ["TRITON_INTERPRET=1"]\n'),
    ("docker-compose.override.yml", "services:\n  a:\n    build:\n      args:\n        TRITON_INTERPRET: '1'\n"),
    ("docker-compose.yml", "services:\n  a:\n    command: sh -c 'TRITON_INTERPRET=1 python x.py'\n"),
    ("docker-compose.yml", 'services:\n  a:\n    command: ["sh", "-c", "TRITON_INTERPRET=1 python x.py"]\n'),
    ("docker-compose.yml", "x-env: &env\n  TRITON_INTERPRET: 1\nservices:\n  a:\n    environment: *env\n"),
    ("docker-compose.yml", "services:\n  a:\n    environment:\n      TRITON_INTERPRET: ${TRITON_INTERPRET:-1}\n"),
    (WORKFLOW, "env:\n  TRITON_INTERPRET: 1\n"),
    (WORKFLOW, "jobs:\n  a:\n    env: {TRITON_INTERPRET: 'true'}\n"),
    (WORKFLOW, "jobs:\n  a:\n    steps:\n      - run: TRITON_INTERPRET=1 pytest\n"),
    (WORKFLOW, "jobs:\n  a:\n    steps:\n      - run: |\n          cd x\n          export TRITON_INTERPRET=1\n"),
    (WORKFLOW, "jobs:\n  a:\n    steps:\n      - run: >\n          TRITON_INTERPRET=1\n          pytest -q\n"),
    (WORKFLOW, 'jobs:\n  a:\n    steps:\n      - run: echo "TRITON_INTERPRET=1" >> "$GITHUB_ENV"\n'),
    (
        WORKFLOW,
        "jobs:\n  a:\n    steps:\n      - run: |\n          cat <<EOF >> $GITHUB_ENV\n          TRITON_INTERPRET=1\n          EOF\n",
    ),
    (WORKFLOW, "jobs:\n  a:\n    container:\n      env:\n        TRITON_INTERPRET: 1\n"),
    (WORKFLOW, "jobs:\n  a:\n    env:\n      TRITON_INTERPRET: ${{ vars.ON || '1' }}\n"),
    (".gitlab-ci.yml", "variables:\n  TRITON_INTERPRET: '1'\n"),
    (".gitlab-ci.yml", "variables:\n  TRITON_INTERPRET:\n    value: '1'\n    description: x\n"),
    (".gitlab-ci.yml", "test:\n  script:\n    - export TRITON_INTERPRET=1\n    - pytest\n"),
    (".gitlab-ci.yml", "test:\n  before_script:\n    - TRITON_INTERPRET=1 pytest\n"),
    (".circleci/config.yml", "jobs:\n  a:\n    environment:\n      TRITON_INTERPRET: 1\n"),
    (".circleci/config.yml", "jobs:\n  a:\n    steps:\n      - run:\n          command: TRITON_INTERPRET=1 pytest\n"),
    (".travis.yml", "env:\n  global:\n    - TRITON_INTERPRET=1 B=2\n"),
    ("azure-pipelines.yml", "variables:\n- name: TRITON_INTERPRET\n  value: 1\n"),
    (".buildkite/pipeline.yml", "steps:\n  - label: x\n    commands:\n      - TRITON_INTERPRET=1 pytest\n"),
    ("deploy/pod.yaml", "spec:\n  containers:\n  - env:\n    - name: TRITON_INTERPRET\n      value: '1'\n"),
    ("deploy/pod.yaml", "spec:\n  containers:\n  - env:\n    - {name: TRITON_INTERPRET, value: '1'}\n"),
    ("deploy/pod.yaml", "spec:\n  containers:\n  - command: [sh, -c]\n    args: ['TRITON_INTERPRET=1 python x.py']\n"),
    ("deploy/config.yaml", "kind: ConfigMap\ndata:\n  TRITON_INTERPRET: '1'\n"),
    ("deploy/two.yaml", "a: 1\n---\nspec:\n  env:\n  - name: TRITON_INTERPRET\n    value: 'yes'\n"),
    (".env", "TRITON_INTERPRET=1\n"),
    (".env.production", "export TRITON_INTERPRET='1' # x\n"),
    ("gpu.env", 'A=1\r\nTRITON_INTERPRET="1"\r\n'),
    ("run.sh", "export TRITON_INTERPRET=1\n"),
    ("run.sh", "TRITON_INTERPRET=1 python train.py\n"),
    ("run.sh", "A=1 TRITON_INTERPRET=1 python train.py\n"),
    ("run.sh", "TRITON_INTERPRET=1\nexport TRITON_INTERPRET\n"),
    ("run.sh", "export A=1 TRITON_INTERPRET=1 B=2\n"),
    ("run.sh", "declare -x TRITON_INTERPRET=1\n"),
    ("run.sh", "set -a\nTRITON_INTERPRET=1\nset +a\n"),
    ("run.sh", "env TRITON_INTERPRET=1 python train.py\n"),
    ("run.sh", "sudo -E TRITON_INTERPRET=1 python train.py\n"),
    ("run.sh", "cd x && TRITON_INTERPRET=1 python train.py\n"),
    ("run.sh", "timeout 60 env TRITON_INTERPRET=1 python train.py\n"),
    ("run.sh", "bash -c 'TRITON_INTERPRET=1 python train.py'\n"),
    ("run.sh", "ssh node 'export TRITON_INTERPRET=1; python train.py'\n"),
    ("run.sh", "out=$(TRITON_INTERPRET=1 python train.py)\n"),
    ("run.sh", "docker run --rm -e TRITON_INTERPRET=1 image\n"),
    ("run.sh", "docker run --env=TRITON_INTERPRET=1 \\\n    image\n"),
    ("run.sh", "docker build --build-arg TRITON_INTERPRET=1 .\n"),
    ("run.sh", "kubectl set env deployment/x TRITON_INTERPRET=1\n"),
    ("run.sh", "mpirun -x TRITON_INTERPRET=1 python train.py\n"),
    ("run.sh", "export TRITON_INTERPRET=${TRITON_INTERPRET:-1}\n"),
    ("run.sh", ': "${TRITON_INTERPRET:=1}"\nexport TRITON_INTERPRET\n'),
    ("run.sh", 'if [ -z "$TRITON_INTERPRET" ]; then\n  export TRITON_INTERPRET=1\nfi\n'),
    ("run.sh", "for i in 1 2; do\n  TRITON_INTERPRET=1 python train.py\ndone\n"),
    ("run.sh", "if true; then :; fi\nexport TRITON_INTERPRET=1\n"),
    ("run.sh", "main() {\n  export TRITON_INTERPRET=1\n}\nmain\n"),
    ("run.sh", "cat <<EOF\ntext\nEOF\nexport TRITON_INTERPRET=1\n"),
    ("run.sh", "hyperfine 'TRITON_INTERPRET=1 python bench.py'\n"),
    ("job.sbatch", "#!/bin/bash\n#SBATCH --export=ALL,TRITON_INTERPRET=1\n"),
    ("job.slurm", "srun --export=ALL,TRITON_INTERPRET=1 python train.py\n"),
    ("setup.csh", "setenv TRITON_INTERPRET 1\n"),
    ("config.fish", "set -gx TRITON_INTERPRET 1\n"),
    ("run.sh", "python - <<'EOF'\nimport os\nos.environ['TRITON_INTERPRET'] = '1'\nEOF\n"),
    ("run.sh", """python -c "import os; os.environ['TRITON_INTERPRET'] = '1'"\n"""),
    (WORKFLOW, "jobs:\n  a:\n    steps:\n      - run: '{ echo A=1; echo TRITON_INTERPRET=1; } >> $GITHUB_ENV'\n"),
    ("run.sh", '{\n  echo A=1\n  echo TRITON_INTERPRET=1\n} >> "$GITHUB_ENV"\n'),
    ("run.sh", "(echo A=1; echo TRITON_INTERPRET=1) >> $GITHUB_ENV\n"),
    ("run.sh", "for x in A TRITON_INTERPRET; do\n  :\n  echo TRITON_INTERPRET=1\ndone >> $GITHUB_ENV\n"),
    ("run.sh", "{ echo TRITON_INTERPRET=1; } | tee -a $GITHUB_ENV\n"),
    ("pyproject.toml", '[tool.pytest.ini_options]\nenv = ["TRITON_INTERPRET=1"]\n'),
    ("pyproject.toml", "[tool.pytest_env]\nTRITON_INTERPRET = 1\n"),
    ("pyproject.toml", '[tool.pytest_env]\nTRITON_INTERPRET = {value = "1", skip_if_set = true}\n'),
    ("pyproject.toml", '[tool.hatch.envs.default.env-vars]\nTRITON_INTERPRET = "1"\n'),
    ("pyproject.toml", '[tool.tox.env_run_base]\nset_env = {TRITON_INTERPRET = "1"}\n'),
    ("pyproject.toml", '[tool.poe.tasks]\ntest = "env TRITON_INTERPRET=1 pytest"\n'),
    ("pixi.toml", '[activation.env]\nTRITON_INTERPRET = "1"\n'),
    ("n.ipynb", notebook("%env TRITON_INTERPRET=1\nimport triton")),
    ("n.ipynb", notebook("%env TRITON_INTERPRET 1")),
    ("n.ipynb", notebook("%set_env TRITON_INTERPRET=1")),
    ("n.ipynb", notebook('import os\nos.environ["TRITON_INTERPRET"] = "1"')),
    ("n.ipynb", notebook("!TRITON_INTERPRET=1 python x.py")),
    ("n.ipynb", notebook("%%bash\ncd x\nexport TRITON_INTERPRET=1\n")),
    ("n.ipynb", notebook('files = !ls\nimport os\nos.environ["TRITON_INTERPRET"] = "1"')),
    ("n.ipynb", notebook("this is no Python", 'import os\nos.environ["TRITON_INTERPRET"] = "1"')),
    ("n.ipynb", notebook('%%time\nimport os\nos.environ["TRITON_INTERPRET"] = "1"')),
]

NO_SETTINGS = [
    ("Dockerfile", "FROM x\n# ENV TRITON_INTERPRET=1\n"),
    ("Dockerfile", "FROM x\nENV TRITON_INTERPRET=0\n"),
    ("Dockerfile", "FROM x\nENV TRITON_INTERPRET=\n"),
    ("Dockerfile", "FROM x\nENV A=b \\\n# TRITON_INTERPRET=1\n    C=d\n"),
    ("Dockerfile", "FROM x\nARG TRITON_INTERPRET\nENV TRITON_INTERPRET=$TRITON_INTERPRET\n"),
    ("Dockerfile", "FROM x\nLABEL TRITON_INTERPRET=1\n"),
    ("Dockerfile", "FROM x\nRUN echo TRITON_INTERPRET=1\n"),
    ("Dockerfile", "FROM x\nRUN unset TRITON_INTERPRET && pytest\n"),
    ("Dockerfile", 'FROM x\nENV NOTE="TRITON_INTERPRET=1"\n'),
    ("Dockerfile", 'FROM x\nRUN if [ "$DEBUG" = 1 ]; then export TRITON_INTERPRET=1; fi\n'),
    ("Dockerfile.dockerignore", "TRITON_INTERPRET=1\n"),
    ("docker-compose.yml", "services:\n  a:\n    environment:\n      - TRITON_INTERPRET\n"),
    ("docker-compose.yml", "services:\n  a:\n    environment:\n      TRITON_INTERPRET:\n"),
    ("docker-compose.yml", "services:\n  a:\n    environment:\n      TRITON_INTERPRET: ${TRITON_INTERPRET:-0}\n"),
    ("docker-compose.yml", "services:\n  a:\n    environment:\n      TRITON_INTERPRET: ${TRITON_INTERPRET}\n"),
    ("docker-compose.yml", "services:\n  a:\n    labels:\n      TRITON_INTERPRET: 1\n"),
    ("docker-compose.yml", "services:\n  a:\n    environment:\n      NOTE: TRITON_INTERPRET=1\n"),
    (WORKFLOW, "env:\n  TRITON_INTERPRET: 0\n"),
    (WORKFLOW, "env:\n  # TRITON_INTERPRET: 1\n  A: 1\n"),
    (WORKFLOW, "env:\n  TRITON_INTERPRET: ${{ matrix.interpret }}\n"),
    (WORKFLOW, "jobs:\n  a:\n    strategy:\n      matrix:\n        TRITON_INTERPRET: [0, 1]\n"),
    (WORKFLOW, "on:\n  workflow_dispatch:\n    inputs:\n      TRITON_INTERPRET:\n        default: '1'\n"),
    (WORKFLOW, "jobs:\n  a:\n    steps:\n      - if: inputs.debug\n        env:\n          TRITON_INTERPRET: 1\n"),
    (WORKFLOW, "jobs:\n  a:\n    steps:\n      - name: TRITON_INTERPRET=1 pytest\n"),
    (WORKFLOW, "jobs:\n  a:\n    steps:\n      - run: echo TRITON_INTERPRET=1\n"),
    (WORKFLOW, "jobs:\n  a:\n    steps:\n      - run: |\n          # TRITON_INTERPRET=1 pytest\n          pytest\n"),
    (
        WORKFLOW,
        'jobs:\n  a:\n    steps:\n      - run: |\n          if [ -n "$DEBUG" ]; then\n            export TRITON_INTERPRET=1\n          fi\n',
    ),
    (WORKFLOW, "jobs:\n  a:\n    steps:\n      - run: grep -rn TRITON_INTERPRET=1 .\n"),
    (WORKFLOW, "env: [\n  TRITON_INTERPRET: 1\n"),
    (".gitlab-ci.yml", "variables:\n  TRITON_INTERPRET: 'false'\n"),
    (".gitlab-ci.yml", "test:\n  script:\n    - unset TRITON_INTERPRET\n"),
    ("deploy/pod.yaml", "spec:\n  containers:\n  - env:\n    - name: TRITON_INTERPRET\n      value: '0'\n"),
    ("deploy/pod.yaml", "env:\n- name: TRITON_INTERPRET\n  valueFrom:\n    configMapKeyRef: {name: a, key: b}\n"),
    (".env", "# TRITON_INTERPRET=1\n"),
    (".env", "TRITON_INTERPRET=0\n"),
    (".env", "MY_TRITON_INTERPRET=1\n"),
    (".env", "TRITON_INTERPRET=\n"),
    ("run.sh", "{ echo TRITON_INTERPRET=1; } >> notes.txt\n"),
    ("run.sh", "{ echo TRITON_INTERPRET=1; }\necho A=1 >> $GITHUB_ENV\n"),
    ("run.sh", "(echo TRITON_INTERPRET=1)\n(echo A=1) >> $GITHUB_ENV\n"),
    ("run.sh", 'if [ -n "$DEBUG" ]; then\n  { echo TRITON_INTERPRET=1; } >> $GITHUB_ENV\nfi\n'),
    ("run.sh", "# export TRITON_INTERPRET=1\n"),
    ("run.sh", "TRITON_INTERPRET=1\n"),
    ("run.sh", "export TRITON_INTERPRET=0\n"),
    ("run.sh", "export TRITON_INTERPRET=\n"),
    ("run.sh", "export TRITON_INTERPRET\n"),
    ("run.sh", "unset TRITON_INTERPRET\n"),
    ("run.sh", "export -n TRITON_INTERPRET=1\n"),
    ("run.sh", "env -u TRITON_INTERPRET python train.py\n"),
    ("run.sh", "echo TRITON_INTERPRET=1\n"),
    ("run.sh", "echo 'export TRITON_INTERPRET=1'\n"),
    ("run.sh", "echo TRITON_INTERPRET=1 > notes.txt\n"),
    ("run.sh", "grep -e TRITON_INTERPRET=1 *.py\n"),
    ("run.sh", '[ "$TRITON_INTERPRET" = 1 ] && echo on\n'),
    ("run.sh", "if [[ $TRITON_INTERPRET == 1 ]]; then\n  echo on\nfi\n"),
    ("run.sh", 'if [ -n "$DEBUG" ]; then\n  export TRITON_INTERPRET=1\nfi\n'),
    ("run.sh", 'if [ "$1" = cpu ]; then\n  x=1\nelse\n  export TRITON_INTERPRET=1\nfi\n'),
    ("run.sh", '[ "$DEBUG" = 1 ] && export TRITON_INTERPRET=1\n'),
    ("run.sh", "nvidia-smi || export TRITON_INTERPRET=1\n"),
    ("run.sh", "case $1 in\n  --debug) export TRITON_INTERPRET=1 ;;\nesac\n"),
    ("run.sh", "export TRITON_INTERPRET=${TRITON_INTERPRET:-0}\n"),
    ("run.sh", "export TRITON_INTERPRET=$1\n"),
    ("run.sh", "cat <<EOF\nexport TRITON_INTERPRET=1\nEOF\n"),
    ("run.sh", "cat > README <<'EOF'\nTRITON_INTERPRET=1 python x.py\nEOF\n"),
    ("run.sh", "git commit -m 'TRITON_INTERPRET=1 python'\n"),
    ("run.sh", "flags=(TRITON_INTERPRET=1)\n"),
    ("run.sh", "usage='TRITON_INTERPRET=1 python x.py'\n"),
    ("job.sbatch", "##SBATCH --export=ALL,TRITON_INTERPRET=1\n"),
    ("pyproject.toml", '[tool.pytest.ini_options]\nenv = ["TRITON_INTERPRET=0"]\n'),
    ("pyproject.toml", '# TRITON_INTERPRET = 1\n[project]\ndescription = "TRITON_INTERPRET=1"\n'),
    ("pyproject.toml", '[tool.tox.env_run_base]\npass_env = ["TRITON_INTERPRET"]\n'),
    ("pyproject.toml", '[tool.x\nTRITON_INTERPRET = "1"\n'),
    ("n.ipynb", notebook("# %env TRITON_INTERPRET=1")),
    ("n.ipynb", notebook("%env TRITON_INTERPRET=0")),
    ("n.ipynb", notebook("%env TRITON_INTERPRET")),
    ("n.ipynb", notebook("!echo TRITON_INTERPRET=1")),
    ("n.ipynb", notebook('import os\nprint(os.environ.get("TRITON_INTERPRET"))')),
    ("n.ipynb", notebook("%%markdown\nTRITON_INTERPRET=1 python x.py\n")),
    ("n.ipynb", '{"cells": [{"cell_type": "code", "source": "%env TRITON_INTERPRET=1"'),
    ("notes.txt", "export TRITON_INTERPRET=1\n"),
]


# Files of kinds that nothing parses: a line that gives the variable a value is found by a text search.
GIVEN_IN_UNPARSED_FILES = [
    ("run.ps1", "$env:TRITON_INTERPRET = '1'\n"),
    ("run.ps1", '${Env:TRITON_INTERPRET}="1"; python train.py\n'),
    ("run.ps1", '[System.Environment]::SetEnvironmentVariable("TRITON_INTERPRET", "1", "User")\n'),
    ("run.ps1", "Set-Item -Path Env:\\TRITON_INTERPRET -Value 1\n"),
    ("run.bat", "@echo off\r\nset TRITON_INTERPRET=1\r\npython train.py\r\n"),
    ("run.cmd", '@SET "TRITON_INTERPRET=1" && python train.py\n'),
    ("run.bat", "setx TRITON_INTERPRET 1\n"),
    ("Procfile", "web: TRITON_INTERPRET=1 python serve.py\nworker: python work.py\n"),
    ("serve.service", '[Service]\nEnvironment="A=b c" "TRITON_INTERPRET=1"\n'),
    ("supervisord.conf", '[program:a]\ncommand=python serve.py\nenvironment=A="2",TRITON_INTERPRET="1"\n'),
    ("Jenkinsfile", "pipeline {\n  environment {\n    A = 'b'\n    TRITON_INTERPRET = '1'\n  }\n}\n"),
    ("ci.groovy", "node {\n  withEnv(['A=b', \"TRITON_INTERPRET=1\"]) {\n    sh 'pytest'\n  }\n}\n"),
    ("tox.ini", "[testenv]\nsetenv =\n    TRITON_INTERPRET = 1\n"),
    ("pytest.ini", "[pytest]\nenv =\n    D:TRITON_INTERPRET=true\n"),
    ("setup.cfg", "[tool:pytest]\nenv =\n    TRITON_INTERPRET=1\n"),
    ("Makefile", "TRITON_INTERPRET := 1\nexport TRITON_INTERPRET\n"),
    ("bench.mk", "TRITON_INTERPRET ?= 1\n"),
    ("justfile", "test:\n    @TRITON_INTERPRET=1 pytest\n"),
    (".devcontainer/devcontainer.json", '{\n  // x\n  "containerEnv": {"TRITON_INTERPRET": "1"}\n}\n'),
    (".vscode/launch.json", '{"configurations": [{"env": {"TRITON_INTERPRET": "1"}}]}\n'),
]

NOT_GIVEN_IN_UNPARSED_FILES = [
    ("run.ps1", "# $env:TRITON_INTERPRET = 1\n"),
    ("run.ps1", "if ($env:TRITON_INTERPRET -eq 1) { echo on }\n"),
    ("run.ps1", "$env:TRITON_INTERPRET = $value\n"),
    ("run.bat", "rem set TRITON_INTERPRET=1\n:: set TRITON_INTERPRET=1\n"),
    ("run.bat", "set TRITON_INTERPRET=%1\nset TRITON_INTERPRET=\n"),
    ("run.bat", "if %TRITON_INTERPRET%==1 echo on\n"),
    ("Procfile", "# web: TRITON_INTERPRET=1 python serve.py\nweb: python serve.py\n"),
    ("serve.service", "[Service]\nPassEnvironment=TRITON_INTERPRET\n"),
    ("Jenkinsfile", "node {\n  // env.TRITON_INTERPRET = '1'\n  /* withEnv(['TRITON_INTERPRET=1']) */\n}\n"),
    ("Jenkinsfile", 'node {\n  env.TRITON_INTERPRET = "${params.X}"\n}\n'),
    ("tox.ini", "[testenv]\nsetenv =\n    TRITON_INTERPRET = {env:TRITON_INTERPRET:0}\n"),
    ("pytest.ini", "[pytest]\naddopts = -k TRITON_INTERPRET\nenv =\n    TRITON_INTERPRET=0\n"),
    ("Makefile", "test:\n\tpytest  # TRITON_INTERPRET=1\n"),
    ("Makefile", "ifeq ($(TRITON_INTERPRET),1)\nendif\nMY_TRITON_INTERPRET = 1\nunexport TRITON_INTERPRET\n"),
    ("settings.json", '{"TRITON_INTERPRET": null, "TRITON_INTERPRET": ""}\n'),
]


@pytest.mark.parametrize(("path", "text"), GIVEN_IN_UNPARSED_FILES)
def test_line_of_an_unparsed_file_that_gives_the_variable_a_value_is_found(path: str, text: str) -> None:
    (setting,) = (setting for setting in settings_of(path, text) if setting.variable == "TRITON_INTERPRET")

    assert setting.value in {"1", "true"}
    assert "TRITON_INTERPRET" in text.replace("\r\n", "\n").split("\n")[setting.span.line - 1]


@pytest.mark.parametrize(("path", "text"), NOT_GIVEN_IN_UNPARSED_FILES)
def test_unparsed_file_that_gives_no_value_has_no_setting(path: str, text: str) -> None:
    assert turned_on(path, text) == []


@pytest.mark.parametrize(("path", "text"), SETTINGS)
def test_setting_is_seen(path: str, text: str) -> None:
    assert turned_on(path, text) == ["TRITON_INTERPRET"]


@pytest.mark.parametrize(("path", "text"), NO_SETTINGS)
def test_what_sets_nothing_is_no_setting(path: str, text: str) -> None:
    assert turned_on(path, text) == []


@pytest.mark.parametrize(("path", "text"), [row for row in SETTINGS if row[0] not in {".gitlab-ci.yml", "n.ipynb"}])
def test_setting_stands_on_a_line_that_names_it(path: str, text: str) -> None:
    (setting,) = (one for one in settings_of(path, text) if one.variable == "TRITON_INTERPRET")

    lines = text.replace("\r\n", "\n").split("\n")
    named = "\n".join(lines[setting.span.line - 1 : setting.span.end_line])
    assert "TRITON_INTERPRET" in named or path.endswith("Dockerfile")
    assert 1 <= setting.span.column <= len(lines[setting.span.line - 1]) + 1


@pytest.mark.parametrize(
    ("path", "text"),
    [
        pytest.param("Dockerfile", "TRITON_INTERPRET \\", id="ends in a continuation"),
        pytest.param("run.sh", "export TRITON_INTERPRET='1", id="quote never closed"),
        pytest.param("run.sh", "x=$(TRITON_INTERPRET", id="substitution never closed"),
        pytest.param("run.sh", "cat <<EOF\nTRITON_INTERPRET=1", id="here-document never closed"),
        pytest.param("run.sh", "$(" * 5000 + "TRITON_INTERPRET=1", id="nested deep"),
        pytest.param("a.yml", "[" * 5000 + "TRITON_INTERPRET", id="yaml nested deep"),
        pytest.param("a.yml", "a: &a [*a, *a]\nTRITON_INTERPRET: *a", id="yaml that holds itself"),
        pytest.param("a.toml", "TRITON_INTERPRET = [" * 500, id="toml nested deep"),
        pytest.param("n.ipynb", '{"cells": 1, "TRITON_INTERPRET": 1}', id="notebook without cells"),
        pytest.param("n.ipynb", "[" * 100_000 + "TRITON_INTERPRET", id="json nested deep"),
        pytest.param("n.ipynb", notebook("def f(:\nTRITON_INTERPRET"), id="cell that does not parse"),
        pytest.param(".env", "TRITON_INTERPRET", id="no value"),
    ],
)
def test_malformed_file_sets_nothing(path: str, text: str) -> None:
    assert turned_on(path, text) == []


def test_binary_file_sets_nothing() -> None:
    assert read_settings("run.sh", b"\0\1export TRITON_INTERPRET=1") is None


def test_file_larger_than_people_write_is_refused_where_it_could_set_something() -> None:
    assert read_settings("run.sh", b"export SOMETHING_ELSE=1\n" * 100_000) is None
    with pytest.raises(TooLargeError, match="more than 1 MB"):
        read_settings("run.sh", b"export TRITON_INTERPRET=1\n" * 100_000)


FILLED = (
    "FROM x\nCOPY prewarmed/ /opt/kernels/\nENV TRITON_CACHE_DIR=/opt/kernels\n",
    "FROM x\nENV TRITON_CACHE_DIR=/opt/kernels\nCOPY prewarmed/ $TRITON_CACHE_DIR/\n",
    "FROM x\nENV TRITON_CACHE_DIR=/tmp/kernels/\nADD kernels.tar.gz /tmp/kernels\n",
    "FROM x\nENV TRITON_CACHE_DIR=/t\nCOPY --chown=1:1 a/ABC \\\n  b/DEF /t/keys/\n",
    'FROM x\nENV TRITON_CACHE_DIR=/t\nCOPY ["a b", "/t"]\n',
    "FROM x\nENV TRITON_CACHE_DIR=/app/kernels\nWORKDIR /app\nCOPY kernels ./kernels\n",
    "FROM x\nENV TRITON_CACHE_DIR=/a/b/k\nWORKDIR /a\nWORKDIR b\nCOPY kernels k\n",
    "FROM x\nENV TRITON_HOME=/opt/home\nCOPY cache /opt/home/.triton/cache\n",
    "FROM x AS a\nCOPY k /t\nFROM a\nENV TRITON_CACHE_DIR=/t\n",
    "FROM x AS a\nENV TRITON_CACHE_DIR=/t\nFROM a\nCOPY k /t\n",
    "FROM x AS a\nRUN python warm.py\nFROM y\nENV TRITON_CACHE_DIR=/t\nCOPY --from=a /kernels /t\n",
)
NOT_FILLED = (
    "FROM x\nCOPY . /app\nENV TRITON_CACHE_DIR=/app/cache\n",
    "FROM x\nWORKDIR /app\nCOPY . .\nENV TRITON_CACHE_DIR=/app/cache\n",
    "FROM x\nCOPY k /t2\nENV TRITON_CACHE_DIR=/t\n",
    "FROM x\nCOPY k $UNKNOWN\nENV TRITON_CACHE_DIR=/t\n",
    "FROM x\nCOPY k kernels\nENV TRITON_CACHE_DIR=/kernels\n",
    "FROM x\nCOPY app /srv\nENV TRITON_HOME=/srv\n",
    "FROM x AS a\nCOPY k /t\nFROM y\nENV TRITON_CACHE_DIR=/t\n",
)


@pytest.mark.parametrize(
    ("path", "text", "why"),
    [
        pytest.param("run.sh", "export TRITON_CACHE_DIR=$(mktemp -d)\n", "temporary", id="mktemp"),
        pytest.param("run.sh", "export TRITON_CACHE_DIR=/tmp/$$\n", "process id", id="process id"),
        pytest.param("run.sh", "export TRITON_CACHE_DIR=/x/$(date +%s)\n", "date", id="date"),
        pytest.param("run.sh", "export TRITON_HOME=/tmp/$SLURM_JOB_ID\n", "SLURM_JOB_ID", id="job"),
        pytest.param("run.sh", "docker run -e TRITON_CACHE_DIR=/tmp/t x\n", "scratch", id="scratch of a container"),
        pytest.param("Dockerfile", "FROM x\nENV TRITON_CACHE_DIR=/tmp/t\n", "scratch", id="scratch of an image"),
        pytest.param("Dockerfile", "FROM x AS a\nENV TRITON_CACHE_DIR=/t\nFROM y\n", "build stage", id="stage"),
        pytest.param("Dockerfile", "FROM x\nENV TRITON_CACHE_DIR=/t\n", "volume", id="no volume"),
        *(pytest.param("Dockerfile", text, "volume", id=f"not filled: {text}") for text in NOT_FILLED),
    ],
)
def test_fleeting_folder_is_told_with_its_reason(path: str, text: str, why: str) -> None:
    (setting,) = settings_of(path, text)

    assert setting.fleeting is not None
    assert why in setting.fleeting.why


@pytest.mark.parametrize(
    ("path", "text"),
    [
        pytest.param("run.sh", "export TRITON_CACHE_DIR=$HOME/.triton\n", id="home"),
        pytest.param("run.sh", "docker run -v /x:/tmp -e TRITON_CACHE_DIR=/tmp/t x\n", id="mounted scratch"),
        pytest.param("run.sh", "apptainer exec --env TRITON_CACHE_DIR=/tmp/t x y\n", id="the host's scratch"),
        pytest.param("Dockerfile", "FROM x\nENV TRITON_CACHE_DIR=/t/c\nVOLUME /t\n", id="volume"),
        *(pytest.param("Dockerfile", text, id=f"filled: {text}") for text in FILLED),
        pytest.param(
            "docker-compose.yml",
            dedent("""\
                services:
                  a:
                    environment: [TRITON_CACHE_DIR=/t/c]
                    volumes: ["kernels:/t"]
                """),
            id="compose volume",
        ),
    ],
)
def test_folder_that_stays_is_not_fleeting(path: str, text: str) -> None:
    (setting,) = settings_of(path, text)

    assert setting.fleeting is None
