"""The options of Triton's launches and configs, with their defaults.

Read from `CUDAOptions` and `HIPOptions` (backends/nvidia/compiler.py, backends/amd/compiler.py) and `Config`
(runtime/autotuner.py) of triton 3.2, 3.4, 3.6 and 3.9; a test compares the table with all of them.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

NVIDIA, AMD = "nvidia", "amd"

# Options of every launch, with their default on each backend that has the option. An option without a default here has
# one that changes between releases. A kernel parameter of such a name exists for the caller's sake.
LAUNCH_OPTIONS: Mapping[str, Mapping[str, object]] = MappingProxyType(
    {
        "num_warps": {NVIDIA: 4, AMD: 4},
        "num_stages": {NVIDIA: 3, AMD: 2},
        "num_ctas": {NVIDIA: 1, AMD: 1},
        "maxnreg": {NVIDIA: None},
        "launch_cooperative_grid": {NVIDIA: False, AMD: False},  # since 3.4
        "launch_pdl": {NVIDIA: False},  # since 3.4
        "matrix_instr_nonkdim": {AMD: 0},
        "kpack": {AMD: 1},
        "enable_fp_fusion": {},  # True, and False since 3.9, where a variable decides
        "waves_per_eu": {},  # 1, and 0 since 3.6
        "num_buffers_warp_spec": {NVIDIA: 0, AMD: 0},  # up to 3.2, as are the next three
        "num_consumer_groups": {NVIDIA: 0, AMD: 0},
        "reg_dec_producer": {NVIDIA: 0, AMD: 0},
        "reg_inc_consumer": {NVIDIA: 0, AMD: 0},
    }
)
# The parameters of `triton.Config` by position, as far as all releases agree.
CONFIG_PARAMETERS = ("kwargs", "num_warps", "num_stages", "num_ctas")


def is_default(option: str, value: object) -> bool:
    """Return whether `option=value` is the same as omitting `option` on some backend."""
    # None is passed over (`parse_options` of both backends).
    return value is None or any(value == default for default in LAUNCH_OPTIONS.get(option, {}).values())
