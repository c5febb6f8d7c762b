"""`triton-doctor clean`: removes what `check` keeps between runs."""

import typer


def clean() -> None:
    """Remove what `check` keeps between runs, of all projects. Kernels that Triton keeps are not touched."""
    from triton_doctor.errors import DoctorError, reason_of
    from triton_doctor.static.project.cache.store import cache_folder
    from triton_doctor.static.project.cache.store import clean as remove_databases

    try:
        removed = remove_databases()
    except OSError as error:
        raise DoctorError(
            f"cannot remove the cache of `check`: {reason_of(error)}", hint=f"in {cache_folder()}"
        ) from None
    typer.echo(f"removed the cache of {removed} project{'s' * (removed != 1)}" if removed else "nothing to remove")
