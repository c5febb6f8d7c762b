"""What the pytest plugin adds to a run: `python tests/benchmarks/plugin.py [PYTEST ARGUMENT ...]`, the least of many.

Without arguments, over a test that imports no triton. Give tests that use it to measure what it adds to those.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

REPOSITORY = Path(__file__).parents[2]
ROUNDS = int(os.environ.get("ROUNDS", "15"))


def cpu_s(command: list[str], environment: dict[str, str]) -> float:
    """CPU seconds of a process, which a busy machine changes less than the clock."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, env=environment, stdout=subprocess.DEVNULL, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main(arguments: list[str]) -> None:
    """Print, after each round, the least CPU seconds so far without and with the plugin, and the difference."""
    with tempfile.TemporaryDirectory() as folder:
        if not arguments:
            test = Path(folder, "test_nothing.py")
            test.write_text("def test_nothing():\n    pass\n", encoding="utf-8")
            arguments = [str(test)]
        path = os.pathsep.join([str(REPOSITORY), os.environ.get("PYTHONPATH", "")])
        environment = os.environ | {"PYTHONPATH": path}
        common = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *arguments]
        forms = {"without": ["-p", "no:triton_doctor"], "with": ["-p", "triton_doctor.pytest_plugin"]}
        least = dict.fromkeys(forms, float("inf"))
        for _ in range(ROUNDS):
            for form, options in forms.items():
                least[form] = min(least[form], cpu_s([*common, *options], environment))
            added = least["with"] - least["without"]
            ratio = added / least["without"]
            print(f"without {least['without']:.3f} s, with {least['with']:.3f} s: {added * 1000:+.0f} ms, {ratio:+.1%}")
            sys.stdout.flush()


if __name__ == "__main__":
    main(sys.argv[1:])
