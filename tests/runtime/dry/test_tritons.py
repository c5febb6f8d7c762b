"""Dry runs on older Tritons see the same variants; those that are too old are refused in a line."""

import json

import pytest

PROGRAM = """
import json
import triton_doctor
with triton_doctor.dry_run() as recording:
    import torch
    from tests.runtime.dry import kernels
    for n in (64, 100, 64):
        x = torch.randn(n, device="cuda", requires_grad=True)
        kernels.Scale.apply(x, 2.0).sum().backward()
        kernels.launch_tuned(x)
print(json.dumps([len(recording.compiled), sum(recording.launches.values()), len(recording.tunings)]))
assert recording.warnings == ()
"""


@pytest.mark.parametrize("version", ["3.4.0", "3.6.0"])
def test_variants_do_not_depend_on_the_version(version, runner):
    done = runner(version)("-c", PROGRAM)

    # Two of `scale`, four of `tuned_scale`; six launches of one, three and four trials of the other.
    assert json.loads(done.stdout) == [6, 13, 2]


def test_a_triton_without_a_listener_is_refused_with_a_hint(runner):
    done = runner("3.2.0")("-c", "import triton_doctor\nwith triton_doctor.dry_run(): pass", check=False)

    assert done.returncode == 1
    assert done.stderr.strip().endswith("DoctorError: dry runs need triton 3.4 or newer, and this is 3.2.0")
