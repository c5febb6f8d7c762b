"""The manifest of a pack: what its entries hold, and every part of the key that finds them."""

from __future__ import annotations

from typing import Any

import msgspec

from triton_doctor.cache_entries import is_file_name
from triton_doctor.errors import DoctorError
from triton_doctor.machine.cache_entries import ENTRY_NAME

SCHEMA = 1
MANIFEST = "manifest.json"
KERNEL, LAUNCHER, TUNING = "kernel", "launcher", "tuning"
MANIFEST_BYTES = 64 << 20
# A file of a kernel is held in memory while it is packed or unpacked; the largest binaries have some megabytes.
FILE_BYTES = 1 << 30


class SourceFunction(msgspec.Struct, frozen=True, kw_only=True, order=True):
    """A function that a kernel was compiled from: the kernel itself, or one that it calls.

    `path` is where it stood, `module_path` its end that an import finds. `definition` is the line of its `def`, `line`
    the first, decorators included, and `digest` is of its text. Where the file was changed after the kernel was
    compiled, `line` is 0 and `digest` None.
    """

    path: str
    module_path: str
    name: str
    definition: int
    line: int = 0
    digest: str | None = None


class PackedFile(msgspec.Struct, frozen=True, kw_only=True):
    """A file of an entry."""

    name: str
    size: int


class PackedEntry(msgspec.Struct, frozen=True, kw_only=True):
    """One folder of the cache. `kind` is "kernel", "launcher" or "tuning"; `kernel` is None for a launcher.

    `target` is as in `cuda:90`, `variables` are those that entered the key when the kernel was compiled, `triton` is
    the version that compiled it, where the cache says so. `functions` are what it was compiled from, the kernel first.
    """

    key: str
    kind: str
    kernel: str | None = None
    target: str | None = None
    triton: str | None = None
    variables: dict[str, str] = {}
    functions: tuple[SourceFunction, ...] = ()
    files: tuple[PackedFile, ...]

    @property
    def size_bytes(self) -> int:
        """The size of its files."""
        return sum(file.size for file in self.files)


class KeyParts(msgspec.Struct, frozen=True, kw_only=True):
    """The parts of the key that all kernels of an installation share. None where there is no Triton to ask.

    `frontend` is a digest of Triton's own Python files, `ptxas` what each assembler says of its version, by its name.
    `gpus` are the names of the GPUs, `targets` their architectures, as in `cuda:90`.
    `variables` are those that are set and enter the key, with the value that enters it.
    """

    triton: str | None
    libtriton: str | None
    frontend: str | None
    python: str
    abi: str
    platform: str
    ptxas: dict[str, str] = {}
    gpus: tuple[str, ...] = ()
    targets: tuple[str, ...] = ()
    variables: dict[str, str] = {}


class Manifest(msgspec.Struct, frozen=True, kw_only=True):
    """What a pack holds. `parts` are of the installation that packed it."""

    schema: int = SCHEMA
    tool_version: str
    parts: KeyParts
    entries: tuple[PackedEntry, ...]

    @property
    def size_bytes(self) -> int:
        """The size of all files."""
        return sum(entry.size_bytes for entry in self.entries)

    def of_kind(self, kind: str) -> tuple[PackedEntry, ...]:
        """The entries of `kind`."""
        return tuple(entry for entry in self.entries if entry.kind == kind)


def encode_manifest(manifest: Manifest) -> bytes:
    """`manifest` as JSON, the same bytes for the same manifest. Defaults are left out."""
    return msgspec.json.encode({**shorten(manifest), "schema": manifest.schema}, order="deterministic")


def shorten(value: Any) -> Any:
    """`value` as plain objects, without fields that have their default."""
    if isinstance(value, msgspec.Struct):
        fields = msgspec.structs.fields(value)
        kept = ((field.name, getattr(value, field.name), field.default) for field in fields)
        return {name: shorten(item) for name, item, default in kept if item not in (default, (), {})}
    if isinstance(value, tuple):
        return [shorten(item) for item in value]
    return value


def decode_manifest(data: bytes, path: str) -> Manifest:
    """The manifest of the pack at `path`. Raises DoctorError where it is damaged, or names what no cache holds."""
    try:
        head = msgspec.json.decode(data, type=dict[str, Any])
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
        raise DoctorError(f"{path}: the manifest is damaged", hint="pack it again") from error
    if head.get("schema") != SCHEMA:
        raise DoctorError(
            f"{path}: the manifest has schema {head.get('schema')!r:.20}, this version reads {SCHEMA}",
            hint="use the version of triton-doctor that packed it",
        )
    try:
        manifest = msgspec.convert({name: [] if item is None else item for name, item in head.items()}, Manifest)
    except (msgspec.ValidationError, RecursionError) as error:
        raise DoctorError(f"{path}: the manifest is damaged: {error}", hint="pack it again") from error
    for entry in manifest.entries:
        if problem := find_problem(entry):
            raise DoctorError(f"{path}: the manifest names {problem}", hint="this is no pack of kernels; pack it again")
    keys = [entry.key for entry in manifest.entries]
    if len(set(keys)) < len(keys):
        raise DoctorError(f"{path}: the manifest names an entry twice", hint="pack it again")
    return manifest


def find_problem(entry: PackedEntry) -> str | None:
    """What of `entry` cannot stand in a cache; None where nothing is wrong."""
    if not ENTRY_NAME.fullmatch(entry.key):
        return f"an entry {entry.key[:60]!r}"
    if entry.kind not in {KERNEL, LAUNCHER, TUNING}:
        return f"an entry of the kind {entry.kind[:60]!r}"
    names = [file.name for file in entry.files]
    if len(set(names)) < len(names):
        return "a file twice"
    for file in entry.files:
        if not is_file_name(file.name) or not 0 <= file.size <= FILE_BYTES:
            return f"a file {file.name[:60]!r} of {file.size} bytes"
    if entry.kind == KERNEL and f"{entry.kernel}.json" not in names:
        return f"a kernel {str(entry.kernel)[:60]!r} without its metadata"
    return None
