"""The static rules: a code, and the function that yields its findings."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeAlias

from triton_doctor.finding import Finding
from triton_doctor.static.checks import (
    autotune_key_varies_per_call,
    block_from_runtime_size,
    cache_not_kept,
    constexpr_never_read,
    constexpr_varies_per_call,
    debugging_variable_left_on,
    interpreter_mode_set_in_code,
    interpreter_mode_set_in_settings_file,
    interpreter_mode_set_too_late,
    kernel_made_per_call,
    timing_under_interpreter_mode,
    unknown_triton_variable,
)
from triton_doctor.static.model import Project

Check: TypeAlias = Callable[[Project], Iterator[Finding]]

CHECKS: dict[str, Check] = {
    interpreter_mode_set_in_code.CODE: interpreter_mode_set_in_code.check,
    interpreter_mode_set_in_settings_file.CODE: interpreter_mode_set_in_settings_file.check,
    interpreter_mode_set_too_late.CODE: interpreter_mode_set_too_late.check,
    unknown_triton_variable.CODE: unknown_triton_variable.check,
    debugging_variable_left_on.CODE: debugging_variable_left_on.check,
    cache_not_kept.CODE: cache_not_kept.check,
    constexpr_varies_per_call.CODE: constexpr_varies_per_call.check,
    constexpr_never_read.CODE: constexpr_never_read.check,
    kernel_made_per_call.CODE: kernel_made_per_call.check,
    block_from_runtime_size.CODE: block_from_runtime_size.check,
    autotune_key_varies_per_call.CODE: autotune_key_varies_per_call.check,
    timing_under_interpreter_mode.CODE: timing_under_interpreter_mode.check,
}
