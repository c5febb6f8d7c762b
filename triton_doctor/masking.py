"""Secrets in variables and values, masked before anybody reads them: in the facts of a machine, and in recordings."""

from __future__ import annotations

import re

SECRET_NAME = re.compile(
    r"TOKEN|SECRET|PASSW|(?:^|_)PASS(?:$|_)|(?:^|_)PWD|CREDENTIAL|API_?KEY|ACCESS_?KEY|PRIVATE_?KEY|(?:^|_)KEY$|"
    r"(?:^|_)AUTH",
    re.IGNORECASE,
)
MASK = "***"
# By shape, for a secret may be put into any variable: who logs in by a URL, what follows `Bearer` or a word such
# as `token=`, tokens of known services, and keys as text. `lead` is kept.
SECRET_SHAPES = (
    re.compile(r"(?P<lead>://)[^/\s]*(?=@)"),
    re.compile(r"(?P<lead>\b(?:Bearer|Basic)\s+)[^\s,;]+", re.IGNORECASE),
    re.compile(
        r"(?P<lead>(?:token|secret|passw|pwd|api[_-]?key|access[_-]?key|private[_-]?key|signature|credential|auth)"
        r"[\w-]{0,40}(?:=|:\s+))[^\s&;,]+",
        re.IGNORECASE,
    ),
    re.compile(r"(?P<lead>\b)(?:gh[pousr]_|github_pat_|glpat-|xox[abeprs]-|AKIA|ASIA|npm_|dckr_pat_)[A-Za-z0-9_-]{4,}"),
    re.compile(r"(?P<lead>\b)(?:sk-|nvapi-)[A-Za-z0-9_-]{8,}"),
    re.compile(r"(?P<lead>\b)(?:hf_[A-Za-z0-9]{12,}|AIza[A-Za-z0-9_-]{20,}|pypi-[A-Za-z0-9_-]{16,})"),
    re.compile(r"(?P<lead>\b)eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_.-]+"),  # a JSON web token
    re.compile(r"(?P<lead>-----BEGIN [A-Z ]*PRIVATE KEY-----).*", re.DOTALL),
)


def mask_variable(name: str, value: str) -> str:
    """Replace all of `value` if `name` suggests a secret, else what looks like secrets in it."""
    return MASK if SECRET_NAME.search(name) else mask(value)


def mask(value: str) -> str:
    """Replace everything in `value` that looks like a secret."""
    for shape in SECRET_SHAPES:
        value = shape.sub(rf"\g<lead>{MASK}", value)
    return value
