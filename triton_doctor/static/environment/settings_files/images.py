"""Dockerfiles to the C compiler that their image lacks: the last stage, and the stages that it is built from.

Whatever may bring a compiler in a way that is not read here (a script, a variable, a list in a file) counts as one.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from triton_doctor.static.environment.setting import PROJECT, MissingCompiler
from triton_doctor.static.sources.pinned_triton import TRITON_OF_TORCH
from triton_doctor.variables import BRINGS_DRIVER, CACHE_FOLDERS, Version

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from triton_doctor.static.environment.settings_files.dockerfile import Instruction, Stage

_MAY_INSTALL = (
    re.compile(rb"(?mi)^[ \t]*FROM\b"),
    re.compile(rb"(?mi)^[ \t]*RUN\b"),
    re.compile(rb"\b(?:torch|triton|vllm|sglang|sync|poetry|pdm)\b|\binstall\b.*(?: -r|requirement|[ \"]\.)"),
)
# Gaps are bounded, so that each pattern takes time in proportion to the text.
# Images whose packages have no compiler, by their name on any registry.
_BARE = re.compile(
    r"(?:^|/)(?:nvidia/cuda:\S*\b(?:runtime|base)\b|pytorch/pytorch:\S*-runtime\b|python:\S*slim\b|(?:debian|ubuntu)(?::|$))"
)
_ON_GPU = re.compile(r"(?:^|/)(?:nvidia/cuda|pytorch/pytorch):")
_USES_DNF = re.compile(r"rocky|ubi\d|centos|fedora")
_REFERENCE = re.compile(r"\$\{?(\w+)(?::?-([^}]*))?\}?")
_COMMANDS = re.compile(r"&&|\|\||;|\n")
_PYTHON_INSTALLER = re.compile(
    r"\b(?:pip[\d.]*|uv|conda|mamba|micromamba|poetry|pdm)\b.{0,200}?\b(?:install|add)\b(?P<rest>.*)"
)
_SYSTEM_INSTALLER = re.compile(
    r"\b(?:apt-get|apt|aptitude|dnf|microdnf|yum|tdnf|zypper|conda|mamba|micromamba)\b.{0,200}?"
    r"\b(?:install|(?P<gone>remove|purge|autoremove|erase))\b(?P<rest>.*)"
)
_PACKAGE = re.compile(
    r"(?<![\w./:@=-])(?P<name>torch|triton|vllm|sglang)(?:\[[\w,]*\])?(?:[=~]==?\s*(?P<major>\d+)\.(?P<minor>\d+))?(?![\w/-])"
)
# What installs the project's own requirements, which other files list.
_REQUIREMENTS = re.compile(
    r"\b(?:uv sync|(?:poetry|pdm) (?:install|sync))\b"
    r"|\binstall\b.*?(?:\s(?:-r\s*|--requirement[ =])[\"']?(?:/\S*/|\./)?(?P<file>[\w./-]+)"
    r"|\s\.(?:\[[\w,-]*\])?(?:\s|$))"
)
# Packages that are a compiler or depend on one, on Debian, Red Hat and conda.
_COMPILER = re.compile(
    r"\b(?:gcc|g\+\+|clang|build-essential|gxx_|cxx-compiler|c-compiler|compilers|gfortran|rustc|cargo|golang|dkms"
    r"|libtool|openmpi|mpich|dpkg-dev|nvcc|cuda-(?:toolkit|compiler|minimal-build|devel)|gcc-toolset"
    r"|[Dd]evelopment[ -][Tt]ools)|g\+\+"
)
# What these recommend is installed too, unless it is declined: Debian's pip recommends build-essential.
_RECOMMENDING = re.compile(r"\b(?:python3-pip|cmake|ccache|devscripts)\b")
# Debian's python3 has no headers; Docker's own Python images and conda have them.
_SYSTEM_PYTHON = re.compile(r"(?<![\w-])(?P<python>python3(?:\.\d+)?)(?P<dev>-dev(?:el)?)?(?![\w.]|-\d)")
_UV = re.compile(r"curl[^|]{0,200}astral\.sh/uv[^|]{0,200}\|[^&;\n]*")
_UNREAD = re.compile(
    r"(?:^|\s)(?:\.{1,2}/\S|\S+\.sh\b|(?:bash|sh|source|make|xargs|nix\S*|spack|ansible\S*)\s)|\|\s*(?:bash|sh)\b"
    r"|\benv (?:create|update)\b|Install-Recommends"
)
# What of a stage that installs packages brings them along.
_HOLDS_PACKAGES = re.compile(r"venv|site-packages|dist-packages|conda|\.local\b|\s/usr/local(?:/lib)?/?\s")
_WHOLE_SYSTEM = re.compile(r"\s(?:/|/usr/?|/usr/bin/?)\s")


def may_lack_compiler(data: bytes) -> bool:
    """Return whether a file that holds `data` may be a Dockerfile that installs what needs a C compiler."""
    return all(pattern.search(data) for pattern in _MAY_INSTALL)


def find_missing_compiler(stages: Sequence[Stage]) -> MissingCompiler | None:
    """Return what the image of `stages` lacks; None where it has a compiler, may have one, or needs none."""
    chain = [stages[-1]]
    while (
        parent := next((stage for stage in stages[1:] if stage.name == chain[0].base), None)
    ) and parent not in chain:
        chain.insert(0, parent)
    base = _REFERENCE.sub(lambda found: stages[0].known.get(found[1]) or found[2] or "*", chain[0].base)
    copies = [body for stage in chain for bodies in stage.copied.values() for body in bodies]
    if not _BARE.search(base) or any("CC" in stage.known for stage in chain) or any(map(_WHOLE_SYSTEM.search, copies)):
        return None
    copied = [
        source
        for stage in chain
        for source in stages[1:]
        if any(_copies_packages(body, source) for body in stage.copied.get(source.name, ()))
    ]
    installed = [*_installed(chain), *_installed(copied)]
    image = _Image()
    for stage in chain:
        for instruction in stage.runs:
            image.run(instruction.body)
    if image.has_compiler or not installed:
        return None
    release = _release(installed)
    if release is not None and release >= BRINGS_DRIVER:
        return None
    found, instruction = installed[0]
    names = {package["name"] for package, _ in installed if package.re is _PACKAGE}
    folders = [value for name in CACHE_FOLDERS if (value := stages[-1].known.get(name))]
    has_kernels = any(
        ".triton" in target or any(f"{target}/".startswith(f"{folder}/") for folder in folders)
        for target in stages[-1].filled
    )
    return MissingCompiler(
        package=found["name"] if found.re is _PACKAGE else "",
        requirements="" if found.re is _PACKAGE else found["file"] or PROJECT,
        base=base,
        span=instruction.span,
        headers=image.headers,
        by_dnf=_USES_DNF.search(base) is not None,
        is_for_kernels=bool(names - {"torch"}) or _ON_GPU.search(base) is not None,
        has_kernels=has_kernels,
    )


def _installed(stages: Sequence[Stage]) -> list[tuple[re.Match[str], Instruction]]:
    """Return each package that `stages` install with pip or conda, with its instruction; none of torch's CPU builds."""
    found = []
    for stage in stages:
        for instruction in stage.runs:
            for command in _split(instruction.body):
                installer = _PYTHON_INSTALLER.search(command)
                if "/cpu" in command or "+cpu" in command:
                    continue
                if installer is not None:
                    found += [(package, instruction) for package in _PACKAGE.finditer(installer["rest"])]
                if (listed := _REQUIREMENTS.search(command)) is not None:
                    found.append((listed, instruction))
    # A package that is named says more than a list of them.
    return sorted(found, key=lambda pair: pair[0].re is not _PACKAGE)


def _copies_packages(body: str, source: Stage) -> bool:
    """Return whether a COPY copies a folder into which `source` installs packages."""
    runs = " ".join(instruction.body for instruction in source.runs)
    folders = (re.escape(word.rstrip("/")) for word in body.split() if word.startswith("/") and word.strip("/"))
    return _HOLDS_PACKAGES.search(body) is not None or any(
        re.search(rf"(?:venv|--target|--prefix)[ =]{folder}(?![\w/])|(?<!\S){folder}/bin/", runs) for folder in folders
    )


def _release(installed: Sequence[tuple[re.Match[str], Instruction]]) -> Version | None:
    """Return the release of Triton that `installed` pin: its own, or that of a pinned torch."""
    packages = (package for package, _ in installed if package.re is _PACKAGE)
    pins = {pin["name"]: (int(pin["major"]), int(pin["minor"])) for pin in packages if pin["major"]}
    if "triton" in pins:
        return Version(*pins["triton"])
    return TRITON_OF_TORCH.get(pins["torch"]) if "torch" in pins else None


def _split(body: str) -> Iterator[str]:
    for command in _COMMANDS.split(re.sub(r"\\\s*\n", " ", body)):
        yield command.partition(" #")[0]


class _Image:
    """What the commands of an image have installed so far. `headers` are the Debian package that is missing."""

    def __init__(self) -> None:
        self.has_compiler = False
        self.headers: str | None = None

    def run(self, body: str) -> None:
        """Follow the commands of one `RUN`."""
        for command in _split(_UV.sub("", body)):
            self._follow(command)

    def _follow(self, command: str) -> None:
        installer = _SYSTEM_INSTALLER.search(command)
        if installer is None:
            self.has_compiler |= _UNREAD.search(command) is not None
            return
        packages = installer["rest"]
        if installer["gone"]:
            self.has_compiler &= _COMPILER.search(packages) is None
            return
        recommends = "--no-install-recommends" not in command and "apt" in command
        self.has_compiler |= "$" in packages or _COMPILER.search(packages) is not None
        self.has_compiler |= recommends and _RECOMMENDING.search(packages) is not None
        for python in _SYSTEM_PYTHON.finditer(packages) if "conda" not in command else ():
            self.headers = None if python["dev"] else f"{python['python']}-dev"
            if python["dev"]:
                break
