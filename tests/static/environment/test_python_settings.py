"""Every way in which Python sets a variable, and what only looks like one."""

from __future__ import annotations

from string import ascii_uppercase

import pytest

from tests.settings_of import settings_of, turned_on
from triton_doctor.static.environment.read_python import python_may_set
from triton_doctor.variables import looks_like_triton

SETTINGS = [
    'import os\nos.environ["TRITON_INTERPRET"] = "1"',
    "import os\nos.environ['TRITON_INTERPRET'] = 'true'",
    'import os as _os\n_os.environ["TRITON_INTERPRET"] = "1"',
    'from os import environ\nenviron["TRITON_INTERPRET"] = "1"',
    'from os import environ as e\ne["TRITON_INTERPRET"] = "1"',
    'import os\nenv = os.environ\nenv["TRITON_INTERPRET"] = "1"',
    '__import__("os").environ["TRITON_INTERPRET"] = "1"',
    'import os\nos.environb[b"TRITON_INTERPRET"] = b"1"',
    'import os\na = os.environ["TRITON_INTERPRET"] = "1"',
    'import os\nos.environ["X"], os.environ["TRITON_INTERPRET"] = "0", "1"',
    'import os\nos.environ.setdefault("TRITON_INTERPRET", "1")',
    'import os\nos.environ.__setitem__("TRITON_INTERPRET", "1")',
    'import os\nos.environ.update({"A": "b", "TRITON_INTERPRET": "1"})',
    'import os\nos.environ.update(TRITON_INTERPRET="1")',
    'import os\nos.environ.update([("TRITON_INTERPRET", "1")])',
    'import os\nos.environ.update(dict(TRITON_INTERPRET="1"))',
    'import os\nos.environ.update(**{"TRITON_INTERPRET": "1"})',
    'import os\nVARS = {"TRITON_INTERPRET": "1"}\nos.environ.update(VARS)',
    'import os\nos.environ |= {"TRITON_INTERPRET": "1"}',
    'import os\nos.environ = {**os.environ, "TRITON_INTERPRET": "1"}',
    'import os\nos.putenv("TRITON_INTERPRET", "1")',
    'from os import putenv\nputenv("TRITON_INTERPRET", "1")',
    'import os\nKEY = "TRITON_INTERPRET"\nos.environ[KEY] = "1"',
    'import os\nON = "1"\ndef main():\n    os.environ["TRITON_INTERPRET"] = ON',
    'import os\nPREFIX = "TRITON"\nos.environ[f"{PREFIX}_INTERPRET"] = "1"',
    'import os\nos.environ["TRITON_" + "INTERPRET"] = "1"',
    'import os\nos.environ["%s_INTERPRET" % "TRITON"] = "1"',
    'import os\nos.environ["{}_INTERPRET".format("TRITON")] = "1"',
    'import os\nos.environ["_".join(["TRITON", "INTERPRET"])] = "1"',
    'import os\nos.environ["TRITON_INTERPRET"] = str(1)',
    'import os\nos.environ["TRITON_INTERPRET"] = str(int(True))',
    'import os\nos.environ["TRITON_INTERPRET"] = f"{1}"',
    'import os\nos.environ["TRITON_INTERPRET"] = repr(1)',
    'import os\nos.environ["TRITON_INTERPRET"] = "1" if True else "0"',
    'import os\nos.environ["TRITON_INTERPRET"] = os.environ.get("TRITON_INTERPRET", "1")',
    'import os\nos.environ["TRITON_INTERPRET"] = os.getenv("MINE") or "1"',
    'import os\nclass Names:\n    KEY = "TRITON_INTERPRET"\nos.environ[Names.KEY] = "1"',
    'import os\nfor name in ("TRITON_INTERPRET", "TRITON_DEBUG_X"):\n    os.environ[name] = "1"',
    'import os\nfor k, v in {"TRITON_INTERPRET": "1"}.items():\n    os.environ[k] = v',
    'import os\nfor k, v in [("TRITON_INTERPRET", "1")]:\n    os.environ[k] = v',
    'import os\nif "TRITON_INTERPRET" not in os.environ:\n    os.environ["TRITON_INTERPRET"] = "1"',
    'import os\nif not os.environ.get("TRITON_INTERPRET"):\n    os.environ["TRITON_INTERPRET"] = "1"',
    'import os\nif __name__ == "__main__":\n    os.environ["TRITON_INTERPRET"] = "1"',
    'import os\nimport torch\nif torch.cuda.is_available():\n    os.environ["TRITON_INTERPRET"] = "1"',
    'import os\ntry:\n    os.environ["TRITON_INTERPRET"] = "1"\nfinally:\n    pass',
    'import os\nclass Bench:\n    def setup(self):\n        os.environ["TRITON_INTERPRET"] = "1"',
    'def test(monkeypatch):\n    monkeypatch.setenv("TRITON_INTERPRET", "1")',
    'import pytest\nmp = pytest.MonkeyPatch()\nmp.setenv(name="TRITON_INTERPRET", value="1")',
    'import os\ndef test(monkeypatch):\n    monkeypatch.setitem(os.environ, "TRITON_INTERPRET", "1")',
    'import os\nfrom unittest import mock\n@mock.patch.dict(os.environ, {"TRITON_INTERPRET": "1"})\ndef test(): ...',
    'import os\nfrom unittest.mock import patch\nwith patch.dict("os.environ", TRITON_INTERPRET="1", clear=True):\n    ...',
    'import os, subprocess\nsubprocess.run(["x"], env={**os.environ, "TRITON_INTERPRET": "1"})',
    'import os, subprocess\nsubprocess.Popen(["x"], env=dict(os.environ, TRITON_INTERPRET="1"))',
    'import os, subprocess\nsubprocess.run(["x"], env=os.environ | {"TRITON_INTERPRET": "1"})',
    'import os, subprocess\nenv = os.environ.copy()\nenv["TRITON_INTERPRET"] = "1"\nsubprocess.run(["x"], env=env)',
    'import os, subprocess\nenv = dict(os.environ)\nenv.update(TRITON_INTERPRET="1")\nsubprocess.run(["x"], env=env)',
    'import subprocess\nvars = {}\nvars["TRITON_INTERPRET"] = "1"\nsubprocess.run(["x"], env=vars)',
    'import os\nos.execve("/bin/x", ["x"], {**os.environ, "TRITON_INTERPRET": "1"})',
    'import os\nos.system("TRITON_INTERPRET=1 python bench.py")',
    'import subprocess\nsubprocess.run("export TRITON_INTERPRET=1 && python bench.py", shell=True)',
    'import subprocess\nsubprocess.run(["env", "TRITON_INTERPRET=1", "python", "bench.py"])',
    'import subprocess\nsubprocess.run(["docker", "run", "-e", "TRITON_INTERPRET=1", "image"])',
    'import subprocess\nsubprocess.run(f"TRITON_INTERPRET=1 python {x}", shell=True)',
    'import os\nos.environ["TRITON_INTERPRET"] = str(True).lower()',
    'import os\nos.environ.update({name: "1" for name in ["TRITON_INTERPRET"]})',
    'import os\nos.environ.setdefault(key="TRITON_INTERPRET", value="1")',
    "def test(session):\n    session.env['TRITON_INTERPRET'] = '1'",
    'import ray\nray.init(runtime_env={"env_vars": {"TRITON_INTERPRET": "1"}})',
    'import modal\nimage = modal.Image.debian_slim().env({"TRITON_INTERPRET": "1"})',
    "import triton\ntriton.knobs.runtime.interpret = True",
    "from triton import knobs\nknobs.runtime.interpret = True",
    "import triton.knobs as k\nk.runtime.interpret = True",
    "from triton.knobs import runtime\nruntime.interpret = True",
    'import triton\nsetattr(triton.knobs.runtime, "interpret", True)',
    'import triton\ndef test(monkeypatch):\n    monkeypatch.setattr(triton.knobs.runtime, "interpret", True)',
    'def test(monkeypatch):\n    monkeypatch.setattr("triton.knobs.runtime.interpret", True)',
    "import triton\nwith triton.knobs.runtime.scope():\n    triton.knobs.runtime.interpret = True",
]

NO_SETTINGS = [
    '# os.environ["TRITON_INTERPRET"] = "1"',
    '"""Run with os.environ["TRITON_INTERPRET"] = "1"."""',
    'import os\nos.environ["TRITON_INTERPRET"] = "0"',
    'import os\nos.environ["TRITON_INTERPRET"] = ""',
    'import os\nos.environ["TRITON_INTERPRET"] = "false"',
    'import os\nos.environ.setdefault("TRITON_INTERPRET", "0")',
    'import os\nos.environ["TRITON_INTERPRET"] = str(0)',
    'import os\nos.environ["TRITON_INTERPRET"] = str(int(False))',
    'import os\nprint(os.environ["TRITON_INTERPRET"])',
    'import os\nx = os.environ.get("TRITON_INTERPRET", "1")',
    'import os\nx = os.getenv("TRITON_INTERPRET", "1") == "1"',
    'import os\nassert os.environ["TRITON_INTERPRET"] == "1"',
    'import os\nif os.environ.get("TRITON_INTERPRET") == "1":\n    x = 1',
    'import os\nos.environ.pop("TRITON_INTERPRET", "1")',
    'import os\ndel os.environ["TRITON_INTERPRET"]',
    'import os\nos.unsetenv("TRITON_INTERPRET")',
    'import os\nx = "TRITON_INTERPRET" in os.environ',
    'import os\nx = {"TRITON_INTERPRET": "1"}',
    'import os\nx = os.environ.get("X", {"TRITON_INTERPRET": "1"})',
    'import os\nprint("TRITON_INTERPRET=1 python bench.py")',
    'import os\nraise SystemExit("set TRITON_INTERPRET=1")',
    'import os\nos.environ["MY_TRITON_INTERPRET"] = "1"',
    'import os\nos.environ["NOTES"] = "TRITON_INTERPRET=1"',
    'import os\nos.environ.update({"A": "TRITON_INTERPRET"})',
    'import os\ndef f(on):\n    os.environ["TRITON_INTERPRET"] = on',
    'import os\ndef f(debug=False):\n    if debug:\n        os.environ["TRITON_INTERPRET"] = "1"',
    'import os\nif args.interpret:\n    os.environ["TRITON_INTERPRET"] = "1"',
    'import os, sys\nif "--debug" in sys.argv:\n    os.environ["TRITON_INTERPRET"] = "1"',
    'import os\nif os.environ.get("DEBUG"):\n    os.environ["TRITON_INTERPRET"] = "1"',
    'import os\nDEBUG = os.getenv("DEBUG", "0") == "1"\nif DEBUG:\n    os.environ["TRITON_INTERPRET"] = "1"',
    'import os\nDEBUG = False\nif DEBUG:\n    os.environ["TRITON_INTERPRET"] = "1"',
    'import os, torch\nif not torch.cuda.is_available():\n    os.environ["TRITON_INTERPRET"] = "1"',
    'import os, torch\nGPU = torch.cuda.is_available()\nif not GPU:\n    os.environ["TRITON_INTERPRET"] = "1"',
    'import os\nos.environ["TRITON_INTERPRET"] = "1" if args.debug else "0"',
    'import os\nos.environ["TRITON_INTERPRET"] = str(int(args.debug))',
    'import os\nargs.debug and os.environ.update(TRITON_INTERPRET="1")',
    'import os\nif args.release:\n    pass\nelse:\n    os.environ["TRITON_INTERPRET"] = "1"',
    'import os\ndef main(args):\n    if not args.debug:\n        return\n    os.environ["TRITON_INTERPRET"] = "1"',
    'import os\nmatch mode:\n    case "debug":\n        os.environ["TRITON_INTERPRET"] = "1"',
    'import os\ntry:\n    import gpu\nexcept ImportError:\n    os.environ["TRITON_INTERPRET"] = "1"',
    'import os\nif False:\n    os.environ["TRITON_INTERPRET"] = "1"',
    'import os\nfrom typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    os.environ["TRITON_INTERPRET"] = "1"',
    'import os\ndef on():\n    os.environ["TRITON_INTERPRET"] = "1"\nif args.debug:\n    on()',
    "import os\nfrom contextlib import contextmanager\n@contextmanager\ndef interpreted():\n"
    '    os.environ["TRITON_INTERPRET"] = "1"\n    yield\n    del os.environ["TRITON_INTERPRET"]',
    'import os\nos.environ.update({"TRITON_INTERPRET": "1"} if args.debug else {})',
    'import os, subprocess\nsubprocess.run(["x"], env={**os.environ, **({"TRITON_INTERPRET": "1"} if debug else {})})',
    'import os, subprocess\nsubprocess.run(["x"], env={**os.environ, "TRITON_INTERPRET": "0"})',
    'import subprocess\nsubprocess.run(["echo", "TRITON_INTERPRET=1"])',
    'import subprocess\nsubprocess.run(["grep", "-r", "TRITON_INTERPRET=1", "."])',
    'import subprocess\nsubprocess.run(["env", "-u", "TRITON_INTERPRET", "python"])',
    'def test(monkeypatch):\n    monkeypatch.delenv("TRITON_INTERPRET", raising=False)',
    'def test(monkeypatch):\n    monkeypatch.setenv("TRITON_INTERPRET", "0")',
    'import pytest, os\nskip = pytest.mark.skipif(os.environ.get("TRITON_INTERPRET") == "1", reason="x")',
    "import triton\ntriton.knobs.runtime.interpret = False",
    "import triton\nif triton.knobs.runtime.interpret:\n    x = 1",
    "import triton\nassert triton.knobs.runtime.interpret == True",
    "import triton\ndel triton.knobs.runtime.interpret",
    "from mine import knobs\nknobs.runtime.interpret = True",
    "class Settings:\n    interpret = True\n    env_prefix = 'TRITON_'",
    "TRITON_INTERPRET = '1'\nenv = 1",
    'import os\nx: dict[str, str] = {}\nx["TRITON_INTERPRET"] = "1"\nprint(os.environ)',
    'import argparse\nargparse.ArgumentParser().add_argument("--env", help="such as TRITON_INTERPRET=1")',
]


JOINED_TO_SOMETHING = [
    'import os\nos.system("make\\nTRITON_INTERPRET=1 python bench.py")',
    'import os\nos.system("docker run -eTRITON_INTERPRET=1 image")',
    'import os\nos.system("srun --export=ALL,TRITON_INTERPRET=1 bench.py")',
    "import os\nos.system(\"env 'TRITON_INTERPRET=1' python bench.py\")",
]


@pytest.mark.parametrize("text", [*SETTINGS, *JOINED_TO_SOMETHING])
def test_setting_is_seen(text: str) -> None:
    assert "TRITON_INTERPRET" in turned_on("program.py", text)


@pytest.mark.parametrize("text", NO_SETTINGS)
def test_what_sets_nothing_is_no_setting(text: str) -> None:
    assert turned_on("program.py", text) == []


def test_misspelled_variable_is_seen() -> None:
    head, rest = "TRITON_", "CACHE_DIR"
    letters = f"{ascii_uppercase}_"
    spelled = {head[:at] + head[at + 1 :] for at in range(7)}
    spelled |= {head[:at] + head[at + 1] + head[at] + head[at + 2 :] for at in range(6)}
    spelled |= {head[:at] + letter + head[at + skip :] for at in range(7) for letter in letters for skip in (0, 1)}
    beginnings = ("TRIT", "TRT", "TIRT")
    meant = {one + rest for one in spelled if one.startswith(beginnings) and looks_like_triton(one + rest)}

    seen = {name for name in meant if settings_of("program.py", f'import os\nos.environ["{name}"] = "/x"')}

    assert len(meant) > 100
    assert seen == meant


@pytest.mark.parametrize(
    "text",
    [
        'import os\nHAS_TRITON = os.environ.get("X")',
        'import os\nos.environ["MY_TRITON_KERNELS"] = "1"',
        "import os\nfrom x import TRTLLMAttention",
    ],
)
def test_file_that_names_no_variable_is_not_read(text: str) -> None:
    assert not python_may_set(text.encode())


def test_setting_stands_where_it_is_written_in_characters() -> None:
    text = 'import os\nnames = "ä"; os.environ["TRITON_INTERPRET"] = "1"\n'

    (setting,) = settings_of("program.py", text)

    line = text.splitlines()[setting.span.line - 1]
    assert line[setting.span.column - 1 : setting.span.end_column - 1] == 'os.environ["TRITON_INTERPRET"]'


@pytest.mark.parametrize(
    ("value", "why"),
    [
        pytest.param("tempfile.mkdtemp()", "temporary", id="mkdtemp"),
        pytest.param('f"/tmp/triton-{os.getpid()}"', "process id", id="process id in an f-string"),
        pytest.param('os.path.join("/tmp", str(uuid.uuid4()))', "uuid", id="uuid in a path"),
        pytest.param('str(Path(tempfile.mkdtemp()) / "triton")', "temporary", id="below a temporary folder"),
        pytest.param('"/tmp/%d" % time.time()', "time", id="time"),
        pytest.param("f\"/scratch/{os.environ['SLURM_JOB_ID']}\"", "SLURM_JOB_ID", id="job"),
    ],
)
def test_fleeting_folder_is_told_with_its_reason(value: str, why: str) -> None:
    imports = "import os, tempfile, time, uuid\nfrom pathlib import Path\n"

    (setting,) = settings_of("program.py", f'{imports}os.environ["TRITON_CACHE_DIR"] = {value}\n')

    assert setting.fleeting is not None
    assert why in setting.fleeting.why


@pytest.mark.parametrize(
    "value",
    ['"/cache/triton"', 'os.path.expanduser("~/.cache")', 'f"/tmp/rank{rank}"', 'os.environ.get("CACHE", "/x")'],
)
def test_folder_that_stays_is_not_fleeting(value: str) -> None:
    (setting,) = settings_of("program.py", f'import os\nos.environ["TRITON_CACHE_DIR"] = {value}\n')

    assert setting.fleeting is None


def test_value_that_is_extended_again_and_again_is_followed_once() -> None:
    extended = "folder = folder + '/x'\n" * 40  # 4 * 10**9 ways through them

    (setting,) = settings_of(
        "program.py", f"import os\nfolder = '/y'\n{extended}os.environ['TRITON_CACHE_DIR'] = folder\n"
    )

    assert setting.value is None


def test_loops_inside_each_other_are_not_multiplied_without_end() -> None:
    names = ", ".join(f"'{number}'" for number in range(60))
    loops = "".join(f"{'    ' * depth}for n{depth} in ({names}):\n" for depth in range(6))  # 60 ** 6 rounds

    (setting,) = settings_of("program.py", f"import os\n{loops}{'    ' * 6}os.environ['TRITON_CACHE_DIR'] = n0 + n5\n")

    assert setting.value is None
