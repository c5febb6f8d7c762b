"""Cache folders of a settings file that several ranks share on a network file system.

A batch script shares what it names: a scheduler starts its ranks on several nodes, and the folders that all of them see
are on the network. A compose file or manifest says which of its volumes are.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from triton_doctor.static.environment.setting import Fleeting
from triton_doctor.variables import CACHE_FOLDERS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from triton_doctor.static.environment.setting import EnvSetting

# Options that start several ranks, or the same of a launcher of ranks.
_RANKS = re.compile(
    r"(?m)^#SBATCH\s+(?:--(?:nodes|ntasks|ntasks-per-node)[= ]|-[Nn]\s*)(?:[2-9]|\d{2,}|\$)"
    r"|\b(?:nnodes|nproc[-_]per[-_]node|num_machines|num_gpus)[= ](?:[2-9]|\d{2,}|\$|gpu|auto)"
    r"|\bsrun\b[^\n]{0,200}\s(?:--ntasks[= ]|-n\s*)(?:[2-9]|\d{2,}|\$)|\bmpi(?:run|exec)\b"
)
# A part of the path that is another for each rank or node.
_OF_RANK = re.compile(
    r"RANK|PROCID|LOCALID|NODEID|NODENAME|HOSTNAME|hostname|uuid|mktemp|\$\$|TMPDIR|task_?id|array", re.IGNORECASE
)
_NETWORK = re.compile(r"/(?:lustre|gpfs|nfs\w*|beegfs|cephfs|wekafs?|fsx|efs|panfs)(?:/|$)", re.IGNORECASE)
# A scheduler needs these on every node.
_USUALLY_NETWORK = re.compile(r"^(?:~|/home|\$\{?(?:HOME|SLURM_SUBMIT_DIR|SCRATCH|PSCRATCH|WORK)\}?)(?:/|$)")
_COMPOSE_VOLUME = re.compile(r"(?m)^( +)([\w.-]+):[ \t]*\n((?:\1 +.*\n|[ \t]*\n)*)")
_NETWORK_DRIVER = re.compile(r"(?m)^ +type:[ \t]*[\"']?(?:nfs\w*|cifs)\b")
_MANIFEST_VOLUME = re.compile(r"- name:[ \t]*[\"']?([\w.-]+)[\"']?[ \t]*\n +(?:nfs|cephfs|glusterfs):")
_MOUNT = re.compile(r"-[ \t]*[\"']?([\w.-]+):(/[^\s:\"']+)")
_NAMED_MOUNT = re.compile(r"name:[ \t]*[\"']?([\w.-]+)[\"']?[ \t]*\n[ \t-]*mountPath:[ \t]*[\"']?(/[^\s\"']+)")
_MOUNTED_NAME = re.compile(r"mountPath:[ \t]*[\"']?(/[^\s\"']+)[\"']?[ \t]*\n[ \t-]*name:[ \t]*[\"']?([\w.-]+)")


def mark_shared(kind: str, settings: Iterable[EnvSetting], text: str) -> tuple[EnvSetting, ...]:
    """Return `settings`, of a file of this `kind`, with `shared` set for cache folders that ranks share."""
    lines = text.split("\n")
    mounts = dict(_network_mounts(text)) if kind == "yaml" else {}
    is_job = kind == "shell" and _RANKS.search(text) is not None
    return tuple(
        replace(setting, shared=_why(_written(setting, lines), is_job=is_job, mounts=mounts))
        if setting.variable in CACHE_FOLDERS and setting.fleeting is None
        else setting
        for setting in settings
    )


def _written(setting: EnvSetting, lines: list[str]) -> str:
    """Return the folder as the file spells it, with its variables."""
    if setting.value is not None:
        return setting.value
    span = setting.span
    text = lines[span.line - 1] if 0 < span.line <= len(lines) else ""
    return text[span.column - 1 : span.end_column - 1].partition("=")[2].strip("\"'")


def _why(folder: str, *, is_job: bool, mounts: Mapping[str, str]) -> Fleeting | None:
    for target, name in mounts.items():
        if folder == target or folder.startswith(f"{target.rstrip('/')}/"):
            return Fleeting(why=f"on the network volume `{name}`")
    if not is_job or not folder or _OF_RANK.search(folder):
        return None
    if _NETWORK.search(folder):
        return Fleeting(why="on a network file system, the same folder for every rank")
    if _USUALLY_NETWORK.search(folder):
        return Fleeting(why="in a folder that clusters keep on the network, the same for every rank", certain=False)
    return None


def _network_mounts(text: str) -> Iterator[tuple[str, str]]:
    """Yield the folder and the name of each volume of a compose file or manifest that is on the network."""
    names = {name for _, name, body in _COMPOSE_VOLUME.findall(text) if _NETWORK_DRIVER.search(body)}
    names |= set(_MANIFEST_VOLUME.findall(text))
    mounts = [*_MOUNT.findall(text), *_NAMED_MOUNT.findall(text), *((b, a) for a, b in _MOUNTED_NAME.findall(text))]
    yield from ((folder, name) for name, folder in mounts if name in names)
