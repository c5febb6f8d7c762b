"""TRD107: an image that installs Triton and has no C compiler."""

from __future__ import annotations

import posixpath
from typing import TYPE_CHECKING

from triton_doctor.finding import Finding, Severity
from triton_doctor.static.environment.setting import PROJECT
from triton_doctor.static.rules import Rule
from triton_doctor.variables import BRINGS_DRIVER, parse_version

if TYPE_CHECKING:
    from collections.abc import Iterator

    from triton_doctor.static.project.project import Project

CODE = "TRD107"
PROJECT_FILES = ("pyproject.toml", "setup.cfg", "setup.py")


def check(project: Project) -> Iterator[Finding]:
    """Yield one finding for each Dockerfile; info if the image may launch no kernel, or finds its kernels compiled."""
    version = parse_version(project.triton_version) if project.triton_version else project.pinned_triton
    for file in project.environment:
        missing = file.missing_compiler
        if missing is None or (version is not None and version >= BRINGS_DRIVER):
            continue
        lists = PROJECT_FILES if missing.requirements == PROJECT else (missing.requirements,)
        beside = {posixpath.normpath(posixpath.join(posixpath.dirname(file.path), name)) for name in lists}
        listed = (package for path, package in project.required.packages if path in beside)
        package = missing.package or next(listed, "")
        if not package:
            continue
        packages = ["gcc", "glibc-devel" if missing.by_dnf else "libc6-dev"]
        if missing.headers is not None:
            packages.append(missing.headers.replace("-dev", "-devel") if missing.by_dnf else missing.headers)
        launches = missing.is_for_kernels or package not in (missing.package, "torch") or bool(project.has_programs)
        install = "dnf install -y" if missing.by_dnf else "apt-get update && apt-get install -y"
        lacks = "no C compiler" + (" and no headers of Python" if missing.headers else "")
        yield Finding(
            path=file.path,
            span=missing.span,
            code=CODE,
            severity=Severity.WARNING if launches and not missing.has_kernels else Severity.INFO,
            message=(
                f"the image installs `{package}` on `{missing.base}`, which has {lacks}: Triton before "
                f"{BRINGS_DRIVER}, and every release on AMD GPUs, builds C code at its first launch"
            ),
            advice=f"add `{install} {' '.join(packages)}` to this stage",
        )


RULE = Rule(code=CODE, check=check)
