"""Processes that tests start are named, for nothing in them is counted."""

import multiprocessing.process
import subprocess

import pytest

from triton_doctor.testing.children import name_python, summarize_children, watch_children

CHILDREN = """
import multiprocessing
import subprocess
import sys

from kernels import run, shift


def test_python():
    run(shift, 700)
    subprocess.run([sys.executable, "-c", "pass"], check=True)
    subprocess.run(["true"], check=True)


def test_fork():
    process = multiprocessing.get_context("fork").Process(target=len, args=("",), name="worker")
    process.start()
    process.join()
"""


@pytest.mark.parametrize("workers", [pytest.param((), id="one process"), pytest.param(("-n", "1"), id="a worker")])
def test_summary_names_the_python_processes_of_tests(workers, project):
    project.write("test_children.py", CHILDREN)
    done = project.pytest("--triton-doctor", *workers)

    told = done.stdout.partition("not watched, and counted against no limit: ")[2].splitlines()
    assert told[:3] == [
        "2 child processes",
        "  `python -c pass`, of test_children.py::test_python",
        "  `multiprocessing: worker`, of test_children.py::test_fork",
    ]


def test_starting_processes_is_restored():
    def read():
        return vars(subprocess.Popen)["__init__"], vars(multiprocessing.process.BaseProcess)["start"]

    before = read()
    restore = watch_children([])
    during = read()
    restore()

    assert not set(before) & set(during)
    assert read() == before


@pytest.mark.parametrize(
    ("command", "named"),
    [
        (["/usr/bin/python3.12", "-m", "serve"], "python -m serve"),
        ("python serve.py", "python serve.py"),
        (["gcc", "a.c"], None),
        ([b"python", b"-c", b"a = 1\nb = 2"], "python -c a = 1 b = 2"),
        ([], None),
    ],
)
def test_command_of_a_python_is_named_in_a_line(command, named):
    assert name_python(command) == named


def test_many_processes_are_counted():
    started = [("", "python a.py")] * 2 + [("t", f"python {number}.py") for number in range(9)]

    told = list(summarize_children(started))
    assert told[:2] == [
        "not watched, and counted against no limit: 11 child processes",
        "  `python a.py`, 2 times, of no test",
    ]
    assert told[-1] == "  and 2 others"
