"""Tables of TOML or JSON to facts: a machine in order, but for what the table says."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

from triton_doctor.machine.facts import Cache, FileSystem, Flood, Gpu, Machine, Package, Ptxas, Requirement

KINDS: dict[str, type] = {
    "triton": Package,
    "tritons": Package,
    "torch": Package,
    "torch_wants": Requirement,
    "gpus": Gpu,
    "ptxas": Ptxas,
    "cache": Cache,
    "file_system": FileSystem,
    "floods": Flood,
}


def machine_of(table: dict[str, Any]) -> Machine:
    """The machine that `table` tells of; an empty text in it stands for what is not there."""
    return replace(Machine(), **values_of(table, Machine))


def values_of(table: dict[str, Any], kind: type) -> dict[str, Any]:
    """The fields of `kind` that `table` has."""
    assert table.keys() <= {field.name for field in fields(kind)}
    return {name: value_of(name, value) for name, value in table.items()}


def value_of(name: str, value: Any) -> Any:
    """`value` of the field `name`, as facts have it."""
    match value:
        case "":
            return None
        case [*items]:
            return tuple(value_of(name, item) for item in items)
        case {**table} if name in KINDS:
            return KINDS[name](**values_of(table, KINDS[name]))
        case _:
            return value
