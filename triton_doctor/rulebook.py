"""The rule pages to RulePage: a page is the only home of what is known about a rule."""

from __future__ import annotations

import json
import re
import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from triton_doctor.errors import DoctorError
from triton_doctor.finding import Severity

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

PACKAGE = Path(__file__).parent
# The wheel carries the pages inside the package; a checkout, and an editable install of it, has them beside.
FOLDERS = (PACKAGE / "_rules", PACKAGE.parent / "rules")
PAGE_NAME = re.compile(r"(?P<code>TRD\d{3})-(?P<name>[a-z0-9-]+)\.md")
PAGE_LINK = re.compile(rf"\]\({PAGE_NAME.pattern}\)")
# Letters that are taken for digits.
DIGITS = str.maketrans("OQIL", "0011")
HEAD = re.compile(r"\A```toml\n(?P<facts>.*?)\n```\n", re.DOTALL)


@dataclass(frozen=True, slots=True, kw_only=True)
class RulePage:
    """One rule. `sections` are title and Markdown text, in the order of the page; `markdown` is all of them."""

    code: str
    name: str
    summary: str
    severity: Severity
    since: str
    evidence: str
    sections: tuple[tuple[str, str], ...]
    markdown: str


@cache
def page_paths() -> Mapping[str, Path]:
    """Return the path of each rule page by code, sorted; the pages are not read.

    Raises DoctorError if they are missing.
    """
    folder = next((folder for folder in FOLDERS if folder.is_dir()), None)
    if folder is None:
        raise DoctorError(f"the rule pages are missing from {PACKAGE}", hint="install triton-doctor again")
    pages = ((PAGE_NAME.fullmatch(path.name), path) for path in sorted(folder.iterdir()))
    return {match["code"]: path for match, path in pages if match}


def rule_name(code: str) -> str:
    """Return the name of a rule: `constexpr-varies-per-call` for TRD201; the code itself if it has no page."""
    path = page_paths().get(code)
    return path.stem.removeprefix(f"{code}-") if path else code


@dataclass(frozen=True, slots=True)
class Home:
    """Where the tool and the pages of its rules can be read, for those who see a report on another machine.

    That is the documentation site that the metadata of the package names, else the repository at the commit that pip
    installed from, as it notes it (PEP 610), else the folder of the pages on this machine.
    """

    repository: str | None
    commit: str = ""
    site: str | None = None

    @property
    def uri(self) -> str:
        """Return the address of the tool's documentation."""
        return self.site or self.repository or next(iter(page_paths().values())).resolve().parent.as_uri()

    def page_uri(self, code: str) -> str | None:
        """Return the address of the page of `code`; None if it has none."""
        path = page_paths().get(code)
        if path is None:
            return None
        if self.site is not None:
            return f"{self.site.rstrip('/')}/rules/{path.stem}/"
        return f"{self.repository}/blob/{self.commit}/rules/{path.name}" if self.repository else path.resolve().as_uri()

    def link_pages(self, markdown: str) -> str:
        """Replace the links of `markdown` to other rule pages by addresses."""
        return PAGE_LINK.sub(lambda link: f"]({self.page_uri(link['code']) or link[0][2:-1]})", markdown)


def find_home(noted: str | None, urls: Iterable[str] = ()) -> Home:
    """Determine the home from pip's direct_url.json, `noted`, and the `Project-URL` fields of the metadata, `urls`.

    A user name and a password in the address are removed.
    """
    labels = dict(url.split(", ", 1) for url in urls)
    if site := labels.get("Documentation"):
        return Home(None, site=site)
    try:
        direct = json.loads(noted or "{}")
        address = urlsplit(direct["url"])
        commit = direct["vcs_info"]["commit_id"]
        host = address.hostname if address.port is None else f"{address.hostname}:{address.port}"
    except (ValueError, KeyError, TypeError):
        return Home(None)
    if address.scheme not in ("http", "https") or not address.hostname:
        return Home(None)
    return Home(f"{address.scheme}://{host}{address.path.rstrip('/').removesuffix('.git')}", commit)


@cache
def installed_home() -> Home:
    """Return the home of the running installation."""
    from importlib.metadata import PackageNotFoundError, distribution

    try:
        installed = distribution("triton-doctor")
        return find_home(installed.read_text("direct_url.json"), installed.metadata.get_all("Project-URL") or ())
    except PackageNotFoundError:
        return Home(None)


def read_page(code: str) -> RulePage:
    """Read the page of a rule by its code or name. Raises DoctorError if there is none."""
    asked, code = code, rule_code(code)
    path = page_paths().get(code)
    if path is None:
        raise unknown_rule(asked)
    text = path.read_text(encoding="utf-8")
    head = HEAD.match(text)
    if head is None:
        raise ValueError(f"{path} does not begin with a toml fence")
    facts = tomllib.loads(head["facts"])
    markdown = text[head.end() :].strip() + "\n"
    return RulePage(
        code=code,
        name=rule_name(code),
        summary=facts["summary"],
        severity=Severity[facts["severity"].upper()],
        since=facts["since"],
        evidence=facts["evidence"],
        sections=tuple(split_sections(markdown)),
        markdown=markdown,
    )


def rule_code(word: str) -> str:
    """Normalize a code or name:

    `TRD201` for `trd201`, `201` or `constexpr-varies-per-call`; other words in upper case.
    """
    word = word.strip()
    if (code := f"TRD{word}") in page_paths():
        return code
    name = word.lower().replace("_", "-")
    return next((known for known in page_paths() if rule_name(known) == name), word.upper())


def unknown_rule(word: str, *, place: str = "") -> DoctorError:
    """Build the error for a code or name that no rule has; `place` says where it was: ` in --select`."""
    meant = _meant_rule(word)
    hint = f"did you mean {meant}? " if meant else ""
    return DoctorError(f"there is no rule {word}{place}", hint=f"{hint}`triton-doctor rule` lists them")


def _meant_rule(word: str) -> str | None:
    """Guess the rule that `word` misspells: a prefix of a code, a code with one wrong letter, or a similar name."""
    from difflib import get_close_matches

    code = word.upper()
    spelled = f"{code[:3]}{code[3:].translate(DIGITS)}"
    for known in page_paths():
        if code and known.startswith(spelled):
            return known
    for known in page_paths():
        if len(known) == len(spelled) and sum(a != b for a, b in zip(known, spelled, strict=True)) == 1:
            return known
    names = {rule_name(known): known for known in page_paths()}
    close = get_close_matches(word.lower().replace("_", "-"), names, n=1, cutoff=0.7)
    return f"{names[close[0]]} {close[0]}" if close else None


def split_sections(markdown: str) -> Iterator[tuple[str, str]]:
    """Yield title and text of each `## ` section; lines inside code fences are not headings."""
    title, lines, fenced = "", list[str](), False
    for line in markdown.splitlines():
        fenced ^= line.startswith("```")
        if line.startswith("## ") and not fenced:
            if title:
                yield title, "\n".join(lines).strip()
            title, lines = line.removeprefix("## ").strip(), []
        else:
            lines.append(line)
    if title:
        yield title, "\n".join(lines).strip()
