"""The manifest of a pack: what its entries hold, and every part of the key that finds them."""

from __future__ import annotations

import msgspec

from triton_doctor.cache_placement import is_file_name
from triton_doctor.errors import DoctorError
from triton_doctor.machine.cache_entries import ENTRY_NAME

SCHEMA = 1
MANIFEST = "manifest.json"
KERNEL, LAUNCHER, TUNING = "kernel", "launcher", "tuning"
# A pack may come from anybody, and reading it takes less than 200 MB whatever it says. Measured: a value of JSON takes
# up to 113 bytes once decoded, and a character up to four. A manifest has about 1 kB and 25 values for each kernel.
MANIFEST_BYTES, MANIFEST_VALUES = 16 << 20, 500_000
# A file of a kernel is held in memory while it is packed; the largest binaries have some megabytes.
FILE_BYTES = 1 << 30


class SourceFunction(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, order=True):
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


class PackedFile(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A file of an entry."""

    name: str
    size: int


class PackedEntry(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
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
        """Return the sum of the sizes of its files."""
        return sum(file.size for file in self.files)


class KeyParts(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
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
        """Return the sum of the sizes of all files of all entries."""
        return sum(entry.size_bytes for entry in self.entries)

    def of_kind(self, kind: str) -> tuple[PackedEntry, ...]:
        """Return the entries of `kind`: KERNEL, LAUNCHER or TUNING."""
        return tuple(entry for entry in self.entries if entry.kind == kind)


class ManifestHead(msgspec.Struct):
    """What tells whether this version reads the rest."""

    schema: int | None = None


def encode_manifest(manifest: Manifest) -> bytes:
    """Encode `manifest` as JSON; equal manifests give equal bytes. Raises DoctorError if it is too large to be read."""
    data = msgspec.json.encode(manifest, order="deterministic")
    require_size(data, f"{len(manifest.entries):,} entries")
    return data


def require_size(data: bytes, what: str) -> None:
    """Raise DoctorError where decoding the manifest `data` could take more memory than is allowed."""
    if len(data) > MANIFEST_BYTES or sum(map(data.count, (b",", b"[", b"{"))) > MANIFEST_VALUES:
        raise DoctorError(f"{what}: the manifest is too large", hint="pack fewer kernels, by --recording")


def decode_manifest(data: bytes, path: str) -> Manifest:
    """Decode the manifest of the pack at `path`.

    Raises DoctorError if it is damaged, or has entries that no Triton cache can hold.
    """
    require_size(data, path)
    try:
        head = msgspec.json.decode(data, type=ManifestHead)
        if head.schema != SCHEMA:
            raise DoctorError(
                f"{path}: the manifest has schema {head.schema}, this version reads {SCHEMA}",
                hint="use the version of triton-doctor that packed it",
            )
        manifest = msgspec.json.decode(data, type=Manifest)
    except msgspec.ValidationError as error:
        raise DoctorError(f"{path}: the manifest is damaged: {error}", hint="pack it again") from error
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
        raise DoctorError(f"{path}: the manifest is damaged", hint="pack it again") from error
    for entry in manifest.entries:
        if problem := find_problem(entry):
            raise DoctorError(
                f"{path}: the manifest names {problem}", hint="the file is no pack of kernels; pack it again"
            )
    keys = [entry.key for entry in manifest.entries]
    if len(set(keys)) < len(keys):
        raise DoctorError(f"{path}: the manifest names an entry twice", hint="pack it again")
    return manifest


def find_problem(entry: PackedEntry) -> str | None:
    """Return what makes `entry` impossible in a Triton cache; None if it is valid."""
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
