"""The environment in which each Python process, and those that it starts, records what its kernels do."""

from __future__ import annotations

import os

# As `typing` has it, whose import costs a start of a program 10 ms.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from triton_doctor.runtime.launch.recording_folder import RecordingFolder

STARTUP = os.path.join(os.path.dirname(os.path.abspath(__file__)), "startup")
# Not TRITON_...: these are no variables of Triton's. The first is also read by startup/sitecustomize.py.
FOLDER = "_TRITON_DOCTOR_RUN"
TARGET = "_TRITON_DOCTOR_TARGET"
PARENT = "_TRITON_DOCTOR_PARENT"
NOTES = "_TRITON_DOCTOR_NOTES"
RUN = "_TRITON_DOCTOR_NAME"
# Of a dry run: what is unknown, the number of processes that are pretended, and which of them these are.
DRY = "_TRITON_DOCTOR_DRY"
# Of a dry run too: the folder of its overlay.
OVERLAY = "_TRITON_DOCTOR_OVERLAY"
# The regular expression of a line that ends the warm-up.
LINE = "_TRITON_DOCTOR_LINE"
OURS = (FOLDER, TARGET, PARENT, NOTES, RUN, DRY, OVERLAY, LINE)


def watched(
    environment: Mapping[str, str],
    folder: RecordingFolder,
    *,
    notes: str,
    target: str | None,
    parent: int,
    dry: str | None = None,
    overlay: str | None = None,
    line: str | None = None,
) -> dict[str, str]:
    """Return `environment` with the variables that make processes record into `folder`.

    `parent` is the id of the process that waits for them; `notes` is the folder of their notes. `dry` is the value of
    the variable DRY, and `line` that of LINE.
    """
    entries = [STARTUP, *filter(None, [environment.get("PYTHONPATH")])]
    added = {"PYTHONPATH": os.pathsep.join(entries), FOLDER: folder.path, RUN: folder.run}
    added |= {PARENT: str(parent), NOTES: notes}
    if target is not None:
        added[TARGET] = target
    if overlay is not None:
        added[OVERLAY] = overlay
    if line is not None:
        added[LINE] = line
    if dry is not None:
        added[DRY] = dry
    return {**environment, **added}
