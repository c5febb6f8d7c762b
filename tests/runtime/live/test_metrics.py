"""Metrics of a server that knows nothing of us, scraped over HTTP, and what else the variable TRITON_DOCTOR brings."""

import os
import re
import signal
import subprocess
import sys
import time
import urllib.request
from collections import Counter
from pathlib import Path

import pytest

from tests.runtime.tritons import REPOSITORY
from triton_doctor import Recording
from triton_doctor.metrics import Metrics
from triton_doctor.runtime.event import COMPILED, CompileEvent, CompileKey, KernelName

PTH = (REPOSITORY / "triton_doctor" / "runtime" / "launch" / "startup" / "triton_doctor.pth").read_text()
KERNELS = REPOSITORY / "tests" / "runtime" / "launch"
SERVER = Path(__file__).parent / "server.py"
LINE = re.compile(r"^(triton_\w+)\{(.*)\} ([\d.e+-]+)$", re.MULTILINE)
AT_MOST_S = 60
LOAD = 80


@pytest.fixture
def installed(runner, tmp_path):
    """A Python in which our `.pth` is read as from site-packages, here by the sitecustomize of a folder of its own."""
    folder = tmp_path / "site"
    folder.mkdir()
    (folder / "sitecustomize.py").write_text(PTH)
    python = runner()
    python.environment["PYTHONPATH"] = f"{folder}{os.pathsep}{python.environment['PYTHONPATH']}{os.pathsep}{KERNELS}"
    return python


def scrape(url):
    """The samples of ours at `url`: name and labels to value, without when they were made."""
    text = urllib.request.urlopen(f"{url}/metrics").read().decode()
    samples = {}
    for name, labels, value in LINE.findall(text):
        if not name.endswith("_created"):
            pairs = tuple(sorted(re.findall(r'(\w+)="([^"]*)"', labels)))
            samples[name, pairs] = float(value)
    return samples


def test_metrics_of_two_workers_under_load_are_those_of_their_recordings(installed, tmp_path):
    pytest.importorskip("prometheus_client", reason="prometheus_client is not installed")
    shared, job = tmp_path / "prometheus", tmp_path / "job"
    shared.mkdir()
    port = tmp_path / "port"
    variables = {"TRITON_DOCTOR": "metrics,guard=0", "PROMETHEUS_MULTIPROC_DIR": str(shared), "PORT_FILE": str(port)}
    run = subprocess.Popen(
        [sys.executable, "-m", "triton_doctor", "run", "--target", "cuda:90", "-o", str(job), str(SERVER)],
        env=installed.environment | variables,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        deadline = time.monotonic() + AT_MOST_S
        while not (port.exists() and port.read_text()):
            assert run.poll() is None, run.stderr.read()
            assert time.monotonic() < deadline
            time.sleep(0.05)
        url = f"http://127.0.0.1:{port.read_text()}"
        served = Counter()
        while sum(served.values()) < LOAD or (len(served) < 2 and sum(served.values()) < 20 * LOAD):
            for n in (10, 11, 12, 12, 10, 1, 16):
                served[urllib.request.urlopen(f"{url}/launch?n={n}").read()] += 1
        samples = scrape(url)
    finally:
        run.send_signal(signal.SIGTERM)
        said = run.communicate(timeout=AT_MOST_S)[1]

    recording = Recording.read(job)
    assert len(served) == 2, "both workers served"
    for tier, name in ((COMPILED, "compiled"), ("loaded from disk", "disk")):
        events = [event for event in recording.compiles if event.tier == tier]
        labels = (("kernel", "scale"), ("tier", name))
        counted = samples.get(("triton_jit_misses_total", (labels[0], ("phase", "serving"), labels[1])), 0)
        assert counted == len(events)
        waited = samples.get(("triton_jit_miss_seconds_total", labels), 0)
        assert waited == pytest.approx(sum(event.duration_us for event in events) / 1e6)
    most = max(len(process.compiles) for process in recording.processes)
    assert samples["triton_jit_variants", (("kernel", "scale"),)] == most
    assert "more than 0 s after the first launch" in said


def test_rounds_of_tuning_and_the_end_of_the_warm_up_are_counted(runner):
    pytest.importorskip("prometheus_client", reason="prometheus_client is not installed")
    program = """
import sys
sys.path.append(sys.argv[1])
import triton, triton_doctor
from prometheus_client import CollectorRegistry, generate_latest
from triton_doctor import metrics
from kernels import launch, scale, Memory
registry = CollectorRegistry()
counting = metrics.start(registry)
with triton_doctor.compile_only("cuda:90"):
    tuned = triton.autotune([triton.Config({"BLOCK": 64}), triton.Config({"BLOCK": 128})], ["n"])(scale)
    tuned[(1,)](Memory(), 10)
    guard = triton_doctor.warmed_up(on_compile=lambda error: None)
    launch(77)
    guard.close()
print(generate_latest(registry).decode())
counting.stop()
"""
    out = runner()("-c", program, str(KERNELS)).stdout

    assert 'triton_autotune_rounds_total{kernel="scale"} 1.0' in out
    assert re.search(r'triton_jit_misses_total\{kernel="scale",phase="warmup",tier="compiled"\} 2\.0', out)
    assert re.search(r'triton_jit_misses_total\{kernel="scale",phase="serving",tier="compiled"\} 1\.0', out)


def test_client_is_not_imported_before_the_program_does_and_counts_what_came_before(installed, tmp_path):
    pytest.importorskip("prometheus_client", reason="prometheus_client is not installed")
    program = """
import sys
from triton_doctor import compile_only
from kernels import launch
with compile_only("cuda:90"):
    launch(10, 11)
    print("prometheus_client" in sys.modules)
    import prometheus_client
    launch(12)
print(prometheus_client.generate_latest().decode())
"""
    first, *rest = installed("-c", program, TRITON_DOCTOR="metrics").stdout.splitlines()

    assert first == "False"
    assert 'triton_jit_misses_total{kernel="scale",phase="warmup",tier="compiled"} 3.0' in rest


def test_spans_and_log_lines_are_one_for_each_compile(installed):
    pytest.importorskip("opentelemetry", reason="opentelemetry-api is not installed")
    program = """
import logging
logging.basicConfig(level=logging.INFO, format="%(name)s %(levelname)s %(message)s")
from opentelemetry import trace

class Span(trace.NonRecordingSpan):
    def __init__(self, name, start):
        super().__init__(trace.INVALID_SPAN_CONTEXT)
        self.name, self.start = name, start
    def is_recording(self):
        return True
    def set_attributes(self, attributes):
        print("attributes", sorted(attributes))
    def end(self, end_time=None):
        print("span", self.name, end_time > self.start)

class Tracer(trace.NoOpTracer):
    def start_span(self, name, start_time=None, **rest):
        return Span(name, start_time)

class Provider(trace.TracerProvider):
    def get_tracer(self, *args, **options):
        return Tracer()

trace.set_tracer_provider(Provider())
from triton_doctor import compile_only
from kernels import launch
with compile_only("cuda:90"):
    launch(10, 11, 11)
"""
    done = installed("-c", program, TRITON_DOCTOR="spans,log")

    assert done.stdout.count("span triton.compile True") == 2
    assert done.stdout.count("'code.line.number', 'thread.id', 'triton.kernel'") == 2
    logged = [line for line in done.stderr.splitlines() if line.startswith("triton_doctor INFO")]
    assert len(logged) == 2
    assert "`n` is 11, was 10" in logged[1]


def test_spans_without_their_package_are_told_and_the_rest_is_watched(installed):
    program = """
import logging, sys
logging.basicConfig(level=logging.INFO)
sys.modules["opentelemetry"] = None
from triton_doctor import compile_only
from kernels import launch
with compile_only("cuda:90"):
    launch(10)
"""
    said = installed("-c", program, TRITON_DOCTOR="spans,log").stderr

    assert "triton-doctor: spans need opentelemetry-api, which is not installed: pip install" in said
    assert said.count("INFO:triton_doctor:`scale` compiled in") == 1


@pytest.mark.parametrize(
    ("value", "said"),
    [
        pytest.param("metics", "TRITON_DOCTOR has no word 'metics'", id="word"),
        pytest.param("guard=soon", "guard takes a number of seconds, not 'soon'", id="number"),
    ],
)
def test_wrong_word_is_one_line_and_the_program_goes_on(installed, value, said):
    done = installed("-c", "import triton; print('goes on')", TRITON_DOCTOR=value)

    assert done.stdout == "goes on\n"
    assert said in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_process_that_imports_no_triton_imports_nothing_of_ours_but_what_waits(installed):
    program = "import sys; print(sorted(name for name in sys.modules if name.startswith('triton_doctor')))"

    assert installed("-c", program).stdout == "[]\n"
    assert "hooks" not in installed("-c", program, TRITON_DOCTOR="metrics").stdout


def test_names_of_kernels_beyond_a_number_share_a_label():
    client = pytest.importorskip("prometheus_client", reason="prometheus_client is not installed")
    registry = client.CollectorRegistry()
    counting = Metrics(registry, kernels=2)
    for number in range(5):
        counting.receive(compiled(f"fused_{number}"))
        counting.receive(compiled("fused_0"))

    samples = client.generate_latest(registry).decode()
    names = dict(re.findall(r'triton_jit_misses_total\{kernel="([^"]*)".*\} (.*)', samples))
    assert names == {"fused_0": "6.0", "fused_1": "1.0", "(others)": "3.0"}


def compiled(name):
    return CompileEvent(
        kernel=KernelName(name=name, module="m", path="m.py", line=1),
        key=CompileKey(signature=()),
        tier=COMPILED,
        stages_us=(("ir", 5),),
        launch_site=None,
        device=0,
        thread=1,
        rank=None,
        at_ns=1,
    )
