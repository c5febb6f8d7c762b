"""The folders that a YAML mapping mounts into a container, and whether their contents outlive it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import yaml

from triton_doctor.static.environment.setting import Fleeting

if TYPE_CHECKING:
    from collections.abc import Iterator


def read_mounts(node: yaml.MappingNode) -> Iterator[tuple[str, bool]]:
    """Yield the folders mounted into a container, and whether they outlive it."""
    for key, value in node.value:
        if not isinstance(key, yaml.ScalarNode) or not isinstance(value, yaml.SequenceNode):
            continue
        if key.value in {"volumes", "volumeMounts", "tmpfs"}:
            for item in value.value:
                if isinstance(item, yaml.ScalarNode):
                    parts = item.value.split(":")
                    yield parts[1] if len(parts) > 1 else parts[0], key.value != "tmpfs"
                elif isinstance(item, yaml.MappingNode):
                    fields = {one.value: its.value for one, its in item.value if isinstance(one, yaml.ScalarNode)}
                    target = fields.get("target") or fields.get("mountPath")
                    if isinstance(target, str):
                        yield target, fields.get("type") != "tmpfs"


def lost_with_container(folder: str, mounts: list[tuple[str, bool]]) -> Fleeting | None:
    """Return why `folder` is lost with the container; None if it is kept or if that is not known."""
    for mount, kept in mounts:
        target = mount.rstrip("/")
        if folder == target or folder.startswith(f"{target}/"):
            return None if kept else Fleeting(why="on a memory file system, which is gone when the container is")
    if mounts and folder.startswith("/"):
        return Fleeting(why="on none of the container's volumes, so it is gone when the container is", certain=False)
    return None
