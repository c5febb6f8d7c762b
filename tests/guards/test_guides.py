"""The examples of the guides, run as a user would write them."""

import re
import textwrap

from tests.runtime.tritons import REPOSITORY


def fences(page, title):
    """(language, text) of each fence in the section `title` of a guide."""
    text = (REPOSITORY / "docs" / "guides" / f"{page}.md").read_text(encoding="utf-8")
    section = re.search(rf"^## {title}\n(.*?)(?=^## |\Z)", text, re.DOTALL | re.MULTILINE)[1]
    return re.findall(r"^```(\w*)\n(.*?)^```$", section, re.DOTALL | re.MULTILINE)


def test_guards_say_what_the_guide_says(runner, tmp_path):
    (_, program), (_, said) = fences("kernel-author", "Watch while you work")
    # The line of the launch, and the time, are those of another machine.
    (tmp_path / "serve.py").write_text(program)
    printed = runner()(str(tmp_path / "serve.py")).stdout

    assert neutral(printed) == neutral(said)


def neutral(text):
    return re.sub(r"\S*serve\.py:", "serve.py:", re.sub(r"\d+\.\d ms", "_ ms", text))


def test_tests_run_as_the_guide_has_them(project):
    (_, tests), (_, settings) = fences("library-ci", "Tests")
    kernels = (project.folder / "kernels.py").read_text().replace("scale", "unused").replace("shift", "rope")
    project.write("kernels.py", kernels)
    project.write("test_rope.py", tests)
    project.write("pytest.ini", "").unlink()
    project.write("pyproject.toml", textwrap.dedent(settings))
    done = project.pytest("--strict-markers", "--triton-doctor-target=cuda:90")

    assert "2 passed" in done.stdout, done.stdout
