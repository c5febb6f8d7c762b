"""A comparison as JSON, schema 1: every key always there, times in milliseconds."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from triton_doctor.version import __version__

if TYPE_CHECKING:
    from triton_doctor.report.comparison.compare import BeforeAfter, Comparison, KernelComparison, Key

SCHEMA = 1


def render_json(comparison: Comparison) -> str:
    """Render `comparison` as a JSON object."""
    document = {
        "schema": SCHEMA,
        "tool_version": __version__,
        "new_variants": comparison.new_variants,
        "totals": {
            "wall_ms": _milliseconds(comparison.wall_us),
            "waited_ms": _milliseconds(comparison.sum("waited_us")),
            "compiled": _both(comparison.sum("compiled")),
            "from_disk": _both(comparison.sum("from_disk")),
            "autotune_rounds": _both(comparison.sum("rounds")),
        },
        "versions": [{"name": name, "before": was, "after": now} for name, was, now in comparison.versions],
        "kernels": [kernel_object(kernel) for kernel in comparison.kernels],
        "causes": [
            {"code": cause.code, "count": _both(cause.count), "waited_ms": _milliseconds(cause.waited_us)}
            for cause in comparison.causes
        ],
        "unseen": {"before": list(comparison.hidden_before), "after": list(comparison.hidden_after)},
    }
    return json.dumps(document, indent=2, ensure_ascii=True) + "\n"


def kernel_object(kernel: KernelComparison) -> dict[str, Any]:
    """Convert one kernel for JSON. A variant is an object of the parts by which it differs, with values as text."""
    variants = kernel.variants
    return {
        "kernel": kernel.kernel.name,
        "module": kernel.kernel.module,
        "path": kernel.kernel.path,
        "line": kernel.kernel.line,
        "status": "new" if kernel.is_new else "gone" if kernel.is_gone else "same" if kernel.is_same else "changed",
        "variants": {"before": variants.before, "after": variants.after},
        "new": [_key_object(key) for key in variants.new],
        "gone": [_key_object(key) for key in variants.gone],
        "changed": [{"before": _key_object(was), "after": _key_object(now)} for was, now in variants.changed],
        "parameters": [
            {"name": parameter.name, "before": parameter.before, "after": parameter.after}
            for parameter in variants.parameters
        ],
        "compiled": _both(kernel.compiled),
        "from_disk": _both(kernel.from_disk),
        "autotune_rounds": _both(kernel.rounds),
        "waited_ms": _milliseconds(kernel.waited_us),
        "causes": [
            {
                "code": cause.code,
                "parameter": cause.parameter,
                "count": _both(cause.count),
                "waited_ms": _milliseconds(cause.waited_us),
            }
            for cause in kernel.causes
        ],
    }


def _key_object(key: Key) -> dict[str, str]:
    return {part.name: part.value for part in key}


def _both(moved: BeforeAfter) -> dict[str, int]:
    return {"before": moved.before, "after": moved.after}


def _milliseconds(moved: BeforeAfter) -> dict[str, float]:
    return {"before": moved.before / 1000, "after": moved.after / 1000}
