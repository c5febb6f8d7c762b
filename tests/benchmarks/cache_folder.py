"""How long `cache list` takes: `cache_folder.py [ENTRIES ...]`, by default 12,500, 25,000 and 50,000."""

import base64
import hashlib
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

# As triton 3.9 leaves a small kernel: name and size of each file but the two that are read.
FILES = {"cubin": 6216, "llir": 3961, "ptx": 4587, "source": 5069, "ttgir": 3235, "ttir": 2854}
# A file system allows some 65,000 names for a file, so that many entries can share theirs.
ENTRIES = (12_500, 25_000, 50_000)


def make_template(folder: Path) -> None:
    """One entry of a kernel `add`."""
    metadata = {"hash": "0" * 64, "target": {"backend": "cuda", "arch": 90, "warp_size": 32}, "padding": "x" * 1000}
    (folder / "add.json").write_text(json.dumps(metadata))
    (folder / "__grp__add.json").write_text(json.dumps({"child_paths": {"padding": "x" * 700}}))
    for suffix, size in FILES.items():
        (folder / f"add.{suffix}").write_bytes(b"x" * size)


def fill(folder: Path, template: Path, entries: int) -> None:
    """Make `entries` entries below `folder`, whose files are those of `template` by other names."""
    for number in range(entries):
        digest = hashlib.sha256(str(number).encode()).digest()
        entry = folder / base64.b32encode(digest).decode().rstrip("=")
        entry.mkdir(parents=True)
        for file in template.iterdir():
            os.link(file, entry / file.name)


def main() -> None:
    """A line for each number of entries."""
    for entries in [int(word) for word in sys.argv[1:]] or ENTRIES:
        with tempfile.TemporaryDirectory() as temporary:
            template, folder = Path(temporary) / "template", Path(temporary) / "kernels"
            template.mkdir()
            make_template(template)
            fill(folder, template, entries)
            command = [sys.executable, "-m", "triton_doctor", "cache", "list", "--cache-dir", str(folder)]
            began = time.perf_counter()
            subprocess.run(command, check=True, capture_output=True)
            print(f"{entries:,} entries: {time.perf_counter() - began:.2f} s")


if __name__ == "__main__":
    main()
