"""Runs one `check`: a request to findings, edits, a report and an exit status."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import typer

from triton_doctor.cli.fixing import FixChoice, fix_files
from triton_doctor.cli.known_findings import KnownFindings, KnownOptions, only_changed, read_known_options, silence
from triton_doctor.cli.messages import print_hint, print_message
from triton_doctor.cli.progress import show_progress
from triton_doctor.cli.recorded import describe_weighing, read_named, weighing
from triton_doctor.cli.streams import (
    choose_view,
    describe_limits,
    describe_unresolved_launches,
    read_stdin,
    require_output,
    write_report,
)
from triton_doctor.errors import DoctorError, reason_of
from triton_doctor.finding import Severity
from triton_doctor.phrases import plural
from triton_doctor.report import Form, Show, render
from triton_doctor.report.concise import render_statistics
from triton_doctor.selection import is_selected
from triton_doctor.settings import load_settings, override, severity
from triton_doctor.static.project.cache.store import CacheStore, cache_folder, clean
from triton_doctor.static.scan import Scan, scan, show_scan
from triton_doctor.static.sources.git_changes import changed_files
from triton_doctor.static.sources.workspace import Workspace, find_workspace
from triton_doctor.variables import parse_version

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from triton_doctor.settings import Settings

CLEAN, FOUND, STOPPED = 0, 1, 2
STDIN = "-"


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckRequest:
    """The options of a `check` as they were given; None or empty where they were not."""

    paths: tuple[str, ...]
    output_format: Form
    output_file: Path | None
    select: tuple[str, ...]
    ignore: tuple[str, ...]
    fail_on: str | None
    triton_version: str | None
    exit_zero: bool
    show: frozenset[Show]
    why: bool
    statistics: bool
    stdin_filename: Path | None
    no_cache: bool
    baseline: Path | None
    write_baseline: bool
    add_ignore: str | None
    changed: str | None
    recording: tuple[Path, ...]
    dry: bool
    dry_command: tuple[str, ...]
    fixes: FixChoice
    watch: bool

    @property
    def from_stdin(self) -> bool:
        """Return whether the file to check is read from stdin."""
        return STDIN in self.paths

    def require_sense(self) -> None:
        """Raise DoctorError for options that contradict each other."""
        if self.statistics and self.output_format not in (Form.FULL, Form.CONCISE):
            raise DoctorError(
                f"--statistics cannot be combined with --output-format {self.output_format}", hint="leave one out"
            )
        if self.why and (self.statistics or self.output_format is not Form.FULL):
            raise DoctorError(
                "--why works with --output-format full only", hint="json and sarif always include the hints"
            )
        if "" in self.paths:
            raise DoctorError("a path is empty", hint="perhaps a variable is not set; . is the working directory")
        if self.from_stdin and len(self.paths) > 1:
            raise DoctorError("`-` (stdin) cannot be combined with other paths", hint="give it alone")
        if self.stdin_filename and not self.from_stdin:
            raise DoctorError("--stdin-filename needs the path `-`", hint="triton-doctor check --stdin-filename a.py -")
        edits = self.write_baseline or self.add_ignore is not None
        if self.watch and (self.from_stdin or self.fixes.wanted or edits or self.dry):
            raise DoctorError(
                "--watch only reports, again and again", hint="leave out what edits, records or reads stdin"
            )
        self.fixes.require_sense(from_stdin=self.from_stdin, otherwise=edits)


def run_check(request: CheckRequest) -> NoReturn:
    """Check once, or with `watch` after each change. Raises `typer.Exit` with the status, or DoctorError."""
    request.require_sense()
    if request.watch:
        from triton_doctor.cli.watching import watch

        watch(request.paths, lambda: run_check(replace(request, watch=False)))
    raise typer.Exit(Check(request, Path.cwd()).run())


def delete_cache() -> NoReturn:
    """Delete what `check` and `sweep` keep, of all projects, and exit. Kernels that Triton keeps are not touched."""
    from triton_doctor.explore.kept_answers import forget_results

    try:
        removed, swept = clean(), forget_results()
    except OSError as error:
        raise DoctorError(f"cannot remove the cache: {reason_of(error)}", hint=f"in {cache_folder()}") from None
    parts = [f"the cache of {plural(removed, 'project')}"] * (removed > 0)
    parts += [f"{plural(swept, 'result')} of sweeps"] * (swept > 0)
    typer.echo(f"removed {' and '.join(parts)}" if parts else "nothing to remove")
    raise typer.Exit


class Check:
    """One check: the workspace, what is known of its findings, and the steps from a scan to the exit status."""

    def __init__(self, request: CheckRequest, cwd: Path) -> None:
        """Find the files of `request`, as seen from `cwd`, and read the recordings and the baseline that it names."""
        self._request = request
        self._cwd = cwd
        settings = self._settings()
        self._options = self._read_options(settings)
        dried: tuple[Path, ...] = ()
        if request.dry:
            from triton_doctor.cli.dry import record_dry

            dried = record_dry(request.dry_command, request.paths)
        self._changed: frozenset[str] | None = None
        if self._options.changed is not None:
            self._changed = changed_files(map(Path, request.paths), self._options.changed, cwd=cwd)
        self._workspace = self._find_workspace(settings)
        describe_limits(self._workspace, request.paths)
        self._require_output()
        self._known = KnownFindings(self._options, self._workspace.reported, self._workspace.base)
        self._recorded = read_named((*self._options.recordings, *dried))
        self._weigh = weighing(self._recorded.processes, self._workspace.base)

    def run(self) -> int:
        """Scan, fix where that was asked, write a baseline or comments or report; return the exit status."""
        request, fixes = self._request, self._request.fixes
        with show_progress(len(self._workspace.files)) as on_progress:
            result, has_fixed = self._fix(on_progress) if fixes.wanted else (self._scan(on_progress), False)
        describe_weighing(self._weigh)
        for limit in result.limits:
            print_message(limit)
        if Show.UNRESOLVED in request.show:
            describe_unresolved_launches(self._workspace, self._cwd)
        if fixes.diff:
            return self._status(failed=has_fixed)
        if fixes.wanted:  # the lines of known findings have moved
            self._known = KnownFindings(self._options, self._workspace.reported, self._workspace.base)
        if self._options.writes:
            self._known.write(result, self._is_on)
            if self._workspace.settings.baseline is None:
                print_hint(
                    f'`baseline = "{self._options.baseline}"` in [tool.triton-doctor] makes `check` leave them out'
                )
            return self._status(failed=False)
        result = self._known.leave_out(result, self._is_on)
        if self._changed is not None:
            result = only_changed(result, self._changed, self._workspace.base)
        if self._options.reason is not None:
            result = silence(result, self._options.reason, self._workspace.base)
        self._report(result)
        fail_on = self._workspace.settings.fail_on
        return self._status(failed=any(finding.severity >= fail_on for finding in result.findings))

    def _settings(self) -> Settings:
        request = self._request
        first = request.stdin_filename or Path("stdin.py") if request.from_stdin else Path(request.paths[0])
        version = request.triton_version
        return override(
            load_settings(self._cwd / first),
            select=request.select,
            ignore=request.ignore,
            fail_on=severity(request.fail_on) if request.fail_on else None,
            triton_version=str(parse_version(version)) if version is not None else None,
        )

    def _read_options(self, settings: Settings) -> KnownOptions:
        request = self._request
        return read_known_options(
            settings,
            baseline=request.baseline,
            write_baseline=request.write_baseline,
            add_ignore=request.add_ignore,
            changed=request.changed,
            recording=request.recording,
            from_stdin=request.from_stdin,
        )

    def _find_workspace(self, settings: Settings) -> Workspace:
        if self._request.from_stdin:
            return read_stdin(self._request.stdin_filename, settings, self._cwd)
        return find_workspace([Path(path) for path in self._request.paths], settings, cwd=self._cwd)

    def _require_output(self) -> None:
        files = (file.name for file in self._workspace.files)
        baselines = () if self._options.baseline is None else (self._options.baseline,)
        inputs: Sequence[Path | str] = (*self._request.paths, *files, *self._options.recordings, *baselines)
        require_output(self._request.output_file, inputs)

    @cached_property
    def _cache(self) -> CacheStore | None:
        if self._request.no_cache:
            return None
        return CacheStore.of(self._workspace)

    def _is_on(self, code: str) -> bool:
        settings = self._workspace.settings
        return is_selected(code, select=settings.select, ignore=settings.ignore)

    def _narrow(self, found: Scan) -> Scan:
        """Leave what the baseline does not know, of the changed files alone where that was asked."""
        new = self._known.new_of(found, self._is_on)
        return new if self._changed is None else only_changed(new, self._changed, self._workspace.base)

    def _scan(self, on_progress: Callable[[int], None]) -> Scan:
        workspace = self._workspace
        return scan(
            workspace.files,
            workspace.settings,
            cwd=workspace.base,
            projects=workspace.projects,
            report_paths=workspace.report_paths,
            on_progress=on_progress,
            weigh=self._weigh,
            cache=self._cache,
        )

    def _fix(self, on_progress: Callable[[int], None]) -> tuple[Scan, bool]:
        """Apply the fixes, or show them, and return the scan of what is left and whether a file has changed."""
        fixed = fix_files(
            self._workspace,
            self._request.fixes,
            cwd=self._cwd,
            narrow=self._narrow,
            weigh=self._weigh,
            recordings=self._recorded.processes,
            on_progress=on_progress,
            cache=self._cache,
        )
        return fixed.scan, bool(fixed.files)

    def _report(self, result: Scan) -> None:
        request, workspace = self._request, self._workspace
        shows_infos = workspace.settings.fail_on is Severity.INFO
        show = request.show | ({Show.INFO} if shows_infos else set())
        to_file = request.output_file is not None
        view = choose_view(workspace, cwd=self._cwd, to_file=to_file, show=show, why=request.why)
        result = show_scan(result, workspace.base, self._cwd)
        text = render_statistics(result) if request.statistics else render(result, request.output_format, view)
        write_report(text, request.output_file)

    def _status(self, *, failed: bool) -> int:
        if not self._recorded.whole:
            return STOPPED
        return FOUND if failed and not self._request.exit_zero else CLEAN
