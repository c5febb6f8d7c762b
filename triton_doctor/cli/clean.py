"""`triton-doctor clean`: removes what `check` and `sweep` keep between runs."""

import typer


def clean() -> None:
    """Remove what `check` and `sweep` keep between runs, of all projects. Kernels that Triton keeps are not touched."""
    from triton_doctor.errors import DoctorError, reason_of
    from triton_doctor.explore.results import forget_results
    from triton_doctor.static.project.cache.store import cache_folder
    from triton_doctor.static.project.cache.store import clean as remove_databases

    try:
        removed = remove_databases()
        swept = forget_results()
    except OSError as error:
        raise DoctorError(f"cannot remove the cache: {reason_of(error)}", hint=f"in {cache_folder()}") from None
    parts = [f"the cache of {removed} project{'s' * (removed != 1)}"] * (removed > 0)
    parts += [f"{swept:,} result{'s' * (swept != 1)} of sweeps"] * (swept > 0)
    typer.echo(f"removed {' and '.join(parts)}" if parts else "nothing to remove")
