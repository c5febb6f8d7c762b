"""Every clock of the table is known to each reader of time, and to the filter before it."""

from __future__ import annotations

import pytest

from triton_doctor.static.environment.read_python import read_setter
from triton_doctor.static.python.clocks import BENCHMARKS, CPU_CLOCKS, GPU_EVENTS, WALL_CLOCKS, may_measure_time
from triton_doctor.static.python.parse import read_module
from triton_doctor.static.variability.queries.timed_regions import is_clock

ON = "import os\nos.environ['TRITON_INTERPRET'] = '1'\n"


@pytest.mark.parametrize("clock", sorted(WALL_CLOCKS))
def test_a_wall_clock_is_known_under_its_name_and_under_another(clock: str) -> None:
    module, name = clock.split(".")
    spellings = {
        f"import {module}\n{clock}() - {clock}()": 2,
        f"import {module} as m\nm.{name}() - m.{name}()": 2,
        f"from {module} import {name}\n{name}() - {name}()": 2,
        f"from {module} import {name} as now\nnow() - now()": 2,
        f"import {module}\n{module}.sleep(1)": 0,
    }

    for text, readings in spellings.items():
        read = read_module("a.py", text.encode())
        sites = read.functions["<module>"].calls
        assert sum(is_clock(read, site.call.func) for site in sites) == readings, text
        assert may_measure_time(text.encode()) is (readings > 0), text


@pytest.mark.parametrize("name", sorted(WALL_CLOCKS | CPU_CLOCKS | BENCHMARKS))
def test_whatever_measures_time_is_a_timing_of_a_file_that_interprets(name: str) -> None:
    text = f"{ON}import {name.rpartition('.')[0]}\n{name}()\n"

    assert [timing.text for timing in read_setter("a.py", text.encode()).timings] == [name]


@pytest.mark.parametrize("name", sorted(GPU_EVENTS))
def test_an_event_measures_time_where_it_is_asked_to(name: str) -> None:
    text = f"{ON}import torch\n{name}()\n{name}(enable_timing=True)\n"

    assert len(read_setter("a.py", text.encode()).timings) == 1
