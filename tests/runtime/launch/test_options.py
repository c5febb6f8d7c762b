"""Where our own arguments end, and what the program's start."""

import sys

import pytest

from triton_doctor.errors import DoctorError
from triton_doctor.runtime.launch.command import resolve
from triton_doctor.runtime.launch.run_options import HelpAsked, read_options


@pytest.mark.parametrize(
    ("arguments", "program"),
    [
        pytest.param(["train.py", "--target", "x", "-o"], ("train.py", "--target", "x", "-o"), id="script"),
        pytest.param(["-o", "out", "train.py", "-o", "b"], ("train.py", "-o", "b"), id="ours, then script"),
        pytest.param(["--live", "-m", "pytest", "-x", "--live"], ("-m", "pytest", "-x", "--live"), id="module"),
        pytest.param(["-c", "print(1)", "-c"], ("-c", "print(1)", "-c"), id="code"),
        pytest.param(["--", "--odd-name", "--live"], ("--odd-name", "--live"), id="after two dashes"),
        pytest.param(["--max-compiles=3", "a.py"], ("a.py",), id="a value after an equals sign"),
    ],
)
def test_options_end_where_the_program_begins(arguments, program):
    assert read_options(arguments).program == program


@pytest.mark.parametrize("arguments", [["--help"], ["--dry", "-h"], ["-o", "out", "--help", "a.py"]])
def test_help_is_asked_for_wherever_it_stands_among_our_options(arguments):
    with pytest.raises(HelpAsked):
        read_options(arguments)


def test_help_behind_the_program_is_the_programs():
    assert read_options(["a.py", "--help"]).program == ("a.py", "--help")


def test_options_have_their_values():
    limits = "--max-compiles 4 --warmup-seconds 1.5 --max-compiles-after-warmup 0"
    options = read_options(f"-o out --target cuda:90 {limits} --live a.py".split())

    assert (options.output, options.target, options.live) == ("out", "cuda:90", True)
    assert (options.max_compiles, options.warmup_seconds, options.max_compiles_after_warmup) == (4, 1.5, 0)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        pytest.param(["--nope", "a.py"], "run has no option --nope", id="unknown"),
        pytest.param(["--max-compiles", "two", "a.py"], "--max-compiles takes a whole number, not 'two'", id="word"),
        pytest.param(["--max-compiles", "-1", "a.py"], "--max-compiles takes a whole number, not '-1'", id="negative"),
        pytest.param(["--warmup-seconds", "nan", "a.py"], "takes a number of seconds, not 'nan'", id="no number"),
        pytest.param(["--target"], "--target takes a value", id="no value"),
        pytest.param(["-o", "", "a.py"], "-o takes a file or a folder", id="empty"),
        pytest.param(["--max-compiles-after-warmup", "1", "a.py"], "needs --warm-when or", id="alone"),
        pytest.param(["--warm-when", "8000", "a.py"], "--warm-when does not take '8000'", id="no condition"),
        pytest.param(["--warm-when", "port:99999", "a.py"], "does not take 'port:99999'", id="no port"),
        pytest.param(["--warm-when", "line:(", "a.py"], "is no regular expression", id="no expression"),
        pytest.param(["--warm-when", "call", "--warmup-seconds", "1", "a.py"], "cannot be combined", id="two ends"),
    ],
)
def test_wrong_option_is_told(arguments, message):
    with pytest.raises(DoctorError, match=message) as raised:
        read_options(arguments)

    assert raised.value.hint


@pytest.mark.parametrize(
    ("words", "command"),
    [
        pytest.param(["a.py", "x"], (sys.executable, "a.py", "x"), id="script"),
        pytest.param(["./a.py"], (sys.executable, "./a.py"), id="script by its path"),
        pytest.param(["tool"], (sys.executable, "tool"), id="script without a suffix"),
        pytest.param(["./runs"], ("./runs",), id="executable by its path"),
        pytest.param(["app"], (sys.executable, "app"), id="folder with a main"),
        pytest.param(["sh", "-c", "exit 3"], ("sh", "-c", "exit 3"), id="command by its name"),
        pytest.param(["-m", "pytest", "-q"], (sys.executable, "-m", "pytest", "-q"), id="module"),
    ],
)
def test_program_is_found(folder, write, words, command):
    write("a.py")
    write("tool")
    write("runs").chmod(0o755)
    write("app/__main__.py")

    assert resolve(words) == command


@pytest.mark.parametrize(
    ("words", "message"),
    [
        pytest.param([], "run needs a program", id="nothing"),
        pytest.param(["gone.py"], "there is no script gone.py", id="script"),
        pytest.param(["gone"], "no such script or command: gone", id="command"),
        pytest.param(["./gone"], "there is no program ./gone", id="path"),
        pytest.param(["."], "there is no program .", id="folder without a main"),
        pytest.param(["-m"], "-m takes a module", id="no module"),
    ],
)
def test_program_that_is_not_there_is_told(folder, words, message):
    with pytest.raises(DoctorError, match=message):
        resolve(words)
