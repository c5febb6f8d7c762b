"""Fuzzers: damaged and hostile input to the doctor, which is to answer each without a traceback and without a hang.

A *kind* is a module of this folder with a function `make_trial(random, sources) -> Trial`. A *trial* is a set of files,
and a function that runs on the folder in which they lie: it returns None, or in words what differs from what must hold.
An exception is a crash. The driver makes trial number n from the seed and n alone, so a failure can be made again:

    python -m tests.fuzz python --seconds 30 --seed 1
    python -m tests.fuzz python --seed 1 --only 4711 --keep found/

`test_fuzz.py` runs a fixed number of each kind on the fixtures of this repository. By hand, `--packages` takes the
sources from the libraries that the benchmarks fetch.
"""
