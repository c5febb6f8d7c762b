"""Real machines, kept as `env --output-format json` told them: each is judged now as it was then."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.machine.facts_table import machine_of
from triton_doctor.machine.diagnose import diagnose
from triton_doctor.report import MachineForm
from triton_doctor.report.machine import render_machine
from triton_doctor.variables import parse_version

MACHINES = sorted((Path(__file__).parents[2] / "fixtures" / "machines").glob("*.json"))
CODES = {"h200-in-order": [], "h200-left-on": ["TRD601", "TRD602", "TRD603", "TRD605"]}


@pytest.mark.parametrize("path", MACHINES, ids=lambda path: path.stem)
def test_recorded_machine_is_judged_as_it_was(path: Path) -> None:
    kept = json.loads(path.read_text(encoding="utf-8"))
    machine, version = machine_of(kept["facts"]), parse_version(kept["triton_version"])

    findings = diagnose(machine, version)

    now = json.loads(render_machine(machine, findings, version, MachineForm.JSON))
    assert now["findings"] == kept["findings"]
    assert sorted(finding.code for finding in findings) == CODES[path.stem]
