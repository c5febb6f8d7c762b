"""What all readers of settings files share: names of interest, and folders that do not last."""

from __future__ import annotations

import re

from triton_doctor.static.environment.setting import Fleeting
from triton_doctor.variables import looks_like_triton, variables

# Folders private to a container, unless something is mounted there.
SCRATCH = re.compile(r"/(?:tmp|var/tmp|dev/shm|run)(?:/|$)")


def is_watched(name: str) -> bool:
    """Return whether a setting of `name` is of interest."""
    return name in variables() or name == "CUDA_VISIBLE_DEVICES" or looks_like_triton(name)


def fleeting_folder(name: str) -> Fleeting | None:
    """Return why a folder named by a shell variable or command substitution does not outlive the process or job."""
    if name in {"$", "BASHPID"}:
        return Fleeting(why="named after the process id, so it is a new one in each process")
    if name == "RANDOM":
        return Fleeting(why="named by a random number, so it is a new one in each run")
    if name.split(" ")[0] in {"mktemp", "tempfile"}:
        return Fleeting(why="a new temporary folder in each run")
    if name.split(" ")[0] in {"date", "uuidgen"}:
        return Fleeting(why=f"named by `{name.split(' ')[0]}`, so it is a new one in each run")
    if name in _JOB_IDS or name.replace(" ", "") in _JOB_IDS:
        return Fleeting(why=f"named after {name}, so it is a new one in each job", certain=False)
    return None


_JOB_IDS = frozenset(
    "SLURM_JOB_ID SLURM_JOBID PBS_JOBID LSB_JOBID JOB_ID GITHUB_RUN_ID CI_JOB_ID CI_PIPELINE_ID BUILDKITE_JOB_ID "
    "BUILD_ID github.run_id github.run_number".split()
)
