"""The HTML report in a real browser: it runs without an error, asks no network, and shows names as they are."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from dataclasses import replace
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from triton_doctor.report.recording import RunForm, render_account
from triton_doctor.report.recording.choice import sort_kernels
from triton_doctor.report.recording.page import moments
from triton_doctor.runtime.account import account
from triton_doctor.runtime.event import CompileEvent, KernelName, LaunchSite
from triton_doctor.runtime.recording import Recording

if TYPE_CHECKING:
    from collections.abc import Callable

RUNS = Path(__file__).parents[3] / "fixtures" / "runs"
HOSTILE = "</script><script>document.title='pwned'</script><img src=x onerror=alert(1)>\u202e&amp;`"
BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
in_a_browser = pytest.mark.skipif(BROWSER is None, reason="no chromium or google-chrome on PATH")
# What chromium says in headless mode of the page, and not of itself.
CONSOLE = re.compile(r"^.*:CONSOLE[:(].*$", re.MULTILINE)


def page(*recordings: Recording) -> str:
    whole = sort_kernels(account(recordings))
    return render_account(whole, RunForm.HTML, recordings=recordings, cwd=Path("/"), color=False)


def read(name: str) -> tuple[Recording, ...]:
    return Recording.read_each(RUNS / f"{name}.jsonl")


def with_events(count: int) -> Recording:
    """One rank that compiled `count` times, on eight threads, 40 kernels with parameters that vary."""
    one = next(one for one in read("liger_training") if one.compiles)
    begin = one.headers[0].started_at_ns
    events = [
        replace(
            (compiled := one.compiles[number % len(one.compiles)]),
            kernel=replace(compiled.kernel, name=f"{compiled.kernel.name}_{number % 40}"),
            key=replace(compiled.key, constants=(("rows_per_program", number), *compiled.key.constants[1:])),
            at_ns=begin + (number + 1) * 10**8,
            thread=1000 + number % 8,
        )
        for number in range(count)
    ]
    return Recording(headers=one.headers, events=[*events])


@cache
def page_of_ten_thousand_events() -> str:
    """Drawn once for the tests that look at it."""
    return page(with_events(10_000))


class Texts(HTMLParser):
    """The tags of a page, and its text outside of scripts and styles."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.shown = ""

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.tags.append(tag)

    def handle_data(self, data: str) -> None:
        if self.tags[-1:] not in (["script"], ["style"]):
            self.shown += data


def parse(text: str) -> Texts:
    parsed = Texts()
    parsed.feed(text)
    return parsed


def open_page(text: str, tmp_path: Path) -> tuple[str, list[str]]:
    """The document after its scripts ran, and what they said on the console."""
    path = tmp_path / "page.html"
    path.write_text(text, encoding="utf-8")
    command = [str(BROWSER), "--headless", "--no-sandbox", "--disable-gpu", "--enable-logging=stderr", "--v=0"]
    command += [f"--user-data-dir={tmp_path / 'profile'}", "--virtual-time-budget=3000", "--dump-dom", path.as_uri()]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120)
    return done.stdout, CONSOLE.findall(done.stderr)


def test_the_page_names_what_the_run_cost_what_to_change_and_what_was_not_seen() -> None:
    shown = parse(page(*read("liger_training"))).shown

    assert "Triton kept the program waiting for 5.63 s of 17.50 s (32%)" in shown
    assert "in its key, 2 of 46 variants would remain" in shown
    assert "rows_per_program" in shown
    assert "42, 4, 39, 27, 24, 17, ..." in shown
    assert "time between the launches of a kernel: launches are counted, not timed" in shown


@pytest.mark.xdist_group("ten thousand events")
def test_ten_thousand_events_are_less_than_a_megabyte_and_all_of_them_are_drawn() -> None:
    text = page_of_ten_thousand_events()
    (packed,) = re.findall(r'id="moments">(.*?)</script>', text, re.DOTALL)
    drawn = json.loads(packed)

    assert len(text.encode()) < 1_000_000
    assert drawn["left_out"] == {"lanes": 0, "moments": 0, "at_most_us": 0}
    assert sum(len(lane["moments"]) for lane in drawn["lanes"]) >= 10_000


def test_what_is_not_drawn_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(moments, "MOMENTS_SHOWN", 50)
    shown = parse(page(*read("storm_server"))).shown

    assert re.search(r"not drawn: \d+ events of [\d.]+ ms and less", shown)


def test_the_page_loads_nothing() -> None:
    text = page(*read("storm_server"))

    assert "default-src 'none'" in text
    assert not re.search(r"""(?:src|href)=["'](?!#|data:)""", text)
    assert not re.search(r"https?://(?!www\.w3\.org/)", text)


def hostile() -> Recording:
    one = next(one for one in read("storm_server") if one.compiles)
    events = []
    for event in one.events:
        if isinstance(event, CompileEvent):
            key = replace(event.key, constants=tuple((name, HOSTILE) for name, _ in event.key.constants))
            kernel = KernelName(name=HOSTILE, module=HOSTILE, path=HOSTILE, line=1)
            event = replace(
                event, kernel=kernel, key=key, launch_site=LaunchSite(path=HOSTILE, line=1, function=HOSTILE)
            )
        events.append(event)
    header = replace(one.headers[0], command=(HOSTILE,), variables=((HOSTILE, HOSTILE),))
    return Recording(headers=[header], events=events)


def test_hostile_names_add_no_element_to_the_page() -> None:
    parsed = parse(page(hostile()))

    assert parsed.tags.count("script") == 2
    assert "img" not in parsed.tags
    assert "</script><script>document.title='pwned'</script><img src=x onerror=alert(1)>\\u202e&amp;`" in parsed.shown


@in_a_browser
@pytest.mark.parametrize(
    "draw",
    [
        pytest.param(lambda: page(*read("storm_server")), id="a server on a GPU"),
        pytest.param(lambda: page(hostile()), id="hostile names"),
        pytest.param(
            page_of_ten_thousand_events, id="10,000 events", marks=pytest.mark.xdist_group("ten thousand events")
        ),
    ],
)
def test_a_browser_runs_it_without_an_error(draw: Callable[[], str], tmp_path: Path) -> None:
    document, said = open_page(draw(), tmp_path)

    assert said == []
    assert "<title>pwned" not in document
    # The scripts ran to their end: the canvas has a height, and the rows can be opened.
    assert re.search(r'<canvas[^>]*style="height: \d+px', document)
    assert re.search(r'<button class="opener"[^>]*aria-expanded="true"', document)


@in_a_browser
def test_the_timeline_is_moved_and_read_with_a_keyboard(tmp_path: Path) -> None:
    keys = """<script>
        const canvas = document.getElementById("timeline-canvas");
        canvas.focus();
        for (const key of ["+", "ArrowRight", "-", "0", "n", "n", "p"])
            canvas.dispatchEvent(new KeyboardEvent("keydown", {key, cancelable: true}));
        const button = document.querySelectorAll("button.opener")[1];
        button.click();
        document.body.dataset.focused = String(document.activeElement === canvas);
    </script></body>"""
    document, said = open_page(page(*read("storm_server")).replace("</body>", keys), tmp_path)

    (detail,) = re.findall(r'<p id="timeline-detail"[^>]*>(.*?)</p>', document)
    assert said == []
    assert 'data-focused="true"' in document
    assert re.match(
        r"<b>first of a process 720 ms</b> at [\d.]+ s, process 421, thread 421", detail.split("</code> ")[-1]
    )
    assert len(re.findall(r'<button class="opener"[^>]*aria-expanded="true"', document)) == 2
