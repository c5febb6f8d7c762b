"""Makes the pictures of the README: the terminal as SVG, and with Chromium the page as PNG, from fixtures.

`python docs/pictures/make.py` makes all; the page is drawn by `chromium` of PATH. `page.json` keeps the hashes of the
HTML and of the fixture that the PNG was made from, and a test compares them, as it does the SVG files.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from rich.console import CONSOLE_SVG_FORMAT, Console
from rich.text import Text

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
WIDTH = 100
STORM = "fixtures/runs/storm_server.jsonl"
# The picture, its command, and how many lines of what it prints are shown.
TERMINALS = {
    "check.svg": (("check", "--no-cache", "fixtures/seeds/ragged_attention_mask.py"), 22),
    "report.svg": (("report", STORM), 34),
}
PAGE, PAGE_SIZE = "page.png", (1400, 1000)
# Fonts come from no other host, and a picture needs no address that differs between installations.
FONT = re.compile(r"\s*@font-face \{\{.*?\}\}\n", re.DOTALL)
ADDRESS = re.compile(r'<a href="(?:https?|file):[^"]*">')


def draw_terminal(name: str) -> str:
    """Return the SVG of what the command of the picture `name` prints."""
    words, most = TERMINALS[name]
    environment = {**os.environ, "COLUMNS": str(WIDTH), "FORCE_COLOR": "1", "TERM": "xterm-256color"}
    environment.pop("NO_COLOR", None)
    command = [sys.executable, "-m", "triton_doctor", *words]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    shown = ["$ triton-doctor " + " ".join(word for word in words if word != "--no-cache")]
    shown += re.sub(r"\x1b\]8;[^\x1b]*\x1b\\", "", done.stdout).splitlines()[:most]
    console = Console(record=True, width=WIDTH, file=io.StringIO(), force_terminal=True, color_system="truecolor")
    for line in shown:
        console.print(Text.from_ansi(line), soft_wrap=True)
    return console.export_svg(
        title="triton-doctor", code_format=FONT.sub("\n", CONSOLE_SVG_FORMAT), unique_id=name.partition(".")[0]
    )


def write_page(path: Path) -> None:
    """Write the page of the fixture to `path`."""
    command = [sys.executable, "-m", "triton_doctor", "report", STORM, "-o", str(path)]
    subprocess.run(command, cwd=ROOT, check=True)


def hash_page(path: Path) -> dict[str, str]:
    """Return the hashes of the page at `path` and of the fixture that it was made from."""
    page = ADDRESS.sub("<a>", path.read_text(encoding="utf-8"))
    fixture = (ROOT / STORM).read_bytes()
    return {"html": hashlib.sha256(page.encode()).hexdigest(), "fixture": hashlib.sha256(fixture).hexdigest()}


def main() -> None:
    """Make all pictures."""
    for name in TERMINALS:
        (HERE / name).write_text(draw_terminal(name), encoding="utf-8")
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder, "page.html")
        write_page(page)
        subprocess.run(
            [
                "chromium", "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
                "--window-size={},{}".format(*PAGE_SIZE), f"--screenshot={HERE / PAGE}", page.as_uri(),
            ],
            check=True,
            stderr=subprocess.DEVNULL,
        )  # fmt: skip
        (HERE / "page.json").write_text(json.dumps(hash_page(page), indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
