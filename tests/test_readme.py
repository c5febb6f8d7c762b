"""What the README shows is what is printed."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.conftest import Outcome

ROOT = Path(__file__).parent.parent
SESSION = re.compile(r"^```\n\$ triton-doctor (?P<arguments>[^\n]+)\n(?P<printed>.*?)^```$", re.MULTILINE | re.DOTALL)
SESSIONS = list(SESSION.finditer((ROOT / "README.md").read_text(encoding="utf-8")))


@pytest.mark.parametrize("session", SESSIONS, ids=lambda session: session["arguments"])
def test_session_of_the_readme_prints_what_it_shows(
    doctor: Callable[..., Outcome], monkeypatch: pytest.MonkeyPatch, session: re.Match[str]
) -> None:
    monkeypatch.chdir(ROOT)

    printed = doctor(*session["arguments"].split()).out

    assert session["printed"] in printed


def test_readme_shows_a_session() -> None:
    assert SESSIONS
