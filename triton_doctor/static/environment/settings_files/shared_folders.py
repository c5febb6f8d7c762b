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
    from collections.abc import Iterator, Mapping, Sequence

    from triton_doctor.static.environment.setting import EnvSetting

# Options that start several ranks, or the same of a launcher of ranks.
_RANKS = re.compile(
    r"(?m)^#SBATCH\s+(?:--(?:nodes|ntasks|ntasks-per-node)[= ]|-[Nn]\s*)(?:[2-9]|\d{2,}|\$)"
    r"|\b(?:nnodes|nproc[-_]per[-_]node|num_machines|num_gpus|num_processes)[= ](?:[2-9]|\d{2,}|\$|gpu|auto)"
    r"|\bsrun\b[^\n]{0,200}\s(?:--ntasks[= ]|-n\s*)(?:[2-9]|\d{2,}|\$)|\bmpi(?:run|exec)\b"
)
# A part of the path that is another for each rank or node.
_OF_RANK = re.compile(
    r"RANK|PROCID|LOCALID|NODEID|NODENAME|HOSTNAME|hostname|uuid|mktemp|\$\$|TMPDIR|task_?id|array", re.IGNORECASE
)
_NETWORK = re.compile(r"/(?:lustre|gpfs|nfs\w*|beegfs|cephfs|wekafs?|fsx|efs|panfs)(?:/|$)", re.IGNORECASE)
# A scheduler needs these on every node.
_USUALLY_NETWORK = re.compile(r"^(?:~|/home|\$\{?(?:HOME|SLURM_SUBMIT_DIR|SCRATCH|PSCRATCH|WORK)\}?)(?:/|$)")
_NETWORK_VOLUMES = ("nfs", "cifs", "cephfs", "glusterfs")


def mark_shared(kind: str, settings: Sequence[EnvSetting], text: str) -> tuple[EnvSetting, ...]:
    """Return `settings`, of a file of this `kind`, with `shared` set for cache folders that ranks share."""
    lines = text.split("\n")
    is_kept = kind == "yaml" and any(setting.variable in CACHE_FOLDERS for setting in settings)
    mounts = {folder: name for folder, name in (_network_mounts(text) if is_kept else ()) if folder}
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
    if not any(kind in text for kind in _NETWORK_VOLUMES):
        return
    import yaml

    try:
        tables = [*_tables(list(yaml.safe_load_all(text)), set())]
    except (yaml.YAMLError, ValueError):  # a template, or tags that are not YAML's own
        return
    names = {table.get("name") for table in tables if table.keys() & {*_NETWORK_VOLUMES}}
    for name, volume in (pair for table in tables for pair in table.items()):
        options = volume.get("driver_opts") if isinstance(volume, dict) else None
        if isinstance(options, dict) and str(options.get("type")).startswith(_NETWORK_VOLUMES):
            names.add(name)
    for table in tables:
        yield _mount(table.get("mountPath") or table.get("target"), table.get("name") or table.get("source"), names)
        brief = table.get("volumes")
        for text in brief if isinstance(brief, list) else ():
            if isinstance(text, str):
                name, _, rest = text.partition(":")
                yield _mount(rest.partition(":")[0], name, names)


def _mount(folder: object, name: object, names: set[object]) -> tuple[str, str]:
    return (str(folder), str(name)) if folder and name in names else ("", "")


def _tables(data: object, seen: set[int]) -> Iterator[dict[object, object]]:
    """Yield the mappings in `data`, which aliases may lead back to."""
    if id(data) in seen or not isinstance(data, dict | list):
        return
    seen.add(id(data))
    if isinstance(data, dict):
        yield data
    for value in data.values() if isinstance(data, dict) else data:
        yield from _tables(value, seen)
