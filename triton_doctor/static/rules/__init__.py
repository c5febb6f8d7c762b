"""The static rules: a code, and the function that yields its findings."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeAlias

from triton_doctor.finding import Finding
from triton_doctor.static.project.project import Project
from triton_doctor.static.rules import (
    arange_not_power_of_two,
    autotune_key_unknown,
    autotune_key_varies_per_call,
    autotune_unbounded_cost,
    batch_not_multiple_of_8,
    block_from_runtime_size,
    cache_not_kept,
    captured_global,
    constexpr_in_do_not_specialize,
    constexpr_never_read,
    constexpr_of_mixed_types,
    constexpr_varies_per_call,
    debugging_variable_left_on,
    integer_specialization,
    interpreter_mode_set_in_code,
    interpreter_mode_set_in_settings_file,
    interpreter_mode_set_too_late,
    kernel_made_per_call,
    launch_option_shadowed,
    launch_option_varies,
    misaligned_view,
    timing_includes_compile,
    timing_under_interpreter_mode,
    timing_without_synchronize,
    unknown_triton_variable,
)

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
    constexpr_of_mixed_types.CODE: constexpr_of_mixed_types.check,
    constexpr_in_do_not_specialize.CODE: constexpr_in_do_not_specialize.check,
    launch_option_varies.CODE: launch_option_varies.check,
    integer_specialization.CODE: integer_specialization.check,
    misaligned_view.CODE: misaligned_view.check,
    captured_global.CODE: captured_global.check,
    launch_option_shadowed.CODE: launch_option_shadowed.check,
    autotune_unbounded_cost.CODE: autotune_unbounded_cost.check,
    autotune_key_unknown.CODE: autotune_key_unknown.check,
    timing_without_synchronize.CODE: timing_without_synchronize.check,
    timing_includes_compile.CODE: timing_includes_compile.check,
    timing_under_interpreter_mode.CODE: timing_under_interpreter_mode.check,
    batch_not_multiple_of_8.CODE: batch_not_multiple_of_8.check,
    arange_not_power_of_two.CODE: arange_not_power_of_two.check,
}
