"""A file kept open in a program that closes descriptors, or puts its own files on their numbers."""

import os

import pytest

from triton_doctor.errors import DoctorError
from triton_doctor.runtime.kept_file import KeptFile


def close_and_take_over(kept, path):
    """Close the descriptor of `kept` behind its back, and open the file at `path` on the same number."""
    number = kept._descriptor
    os.close(number)
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT, 0o600)
    if descriptor != number:
        os.dup2(descriptor, number)
        os.close(descriptor)
    return number


def test_closed_descriptor_is_opened_again_and_nothing_is_lost(tmp_path):
    kept = KeptFile(tmp_path / "kept")
    kept.write(b"1\n")
    os.close(kept._descriptor)
    kept.write(b"2\n")
    kept.close()

    assert (tmp_path / "kept").read_bytes() == b"1\n2\n"


def test_file_that_took_the_number_is_neither_written_nor_closed(tmp_path):
    kept = KeptFile(tmp_path / "kept")
    kept.write(b"1\n")
    number = close_and_take_over(kept, tmp_path / "precious")
    kept.write(b"2\n")
    kept.close()
    os.write(number, b"mine")
    os.close(number)

    assert (tmp_path / "precious").read_bytes() == b"mine"
    assert (tmp_path / "kept").read_bytes() == b"1\n2\n"


def test_file_that_took_the_number_outlives_the_close(tmp_path):
    kept = KeptFile(tmp_path / "kept")
    number = close_and_take_over(kept, tmp_path / "precious")
    kept.close()
    kept.close()

    os.close(number)


@pytest.mark.parametrize("replacement", [None, b"", b"another file\n"])
def test_file_that_is_gone_or_replaced_is_left_alone(tmp_path, replacement):
    kept = KeptFile(tmp_path / "kept")
    kept.write(b"1\n")
    os.close(kept._descriptor)
    (tmp_path / "kept").rename(tmp_path / "moved")
    if replacement is not None:
        (tmp_path / "kept").write_bytes(replacement)

    with pytest.raises(DoctorError, match="the program closed the descriptor"):
        kept.write(b"2\n")
    assert (tmp_path / "moved").read_bytes() == b"1\n"
    assert replacement is None or (tmp_path / "kept").read_bytes() == replacement


def test_inode_given_to_another_file_is_told_by_what_was_written(tmp_path):
    kept = KeptFile(tmp_path / "kept")
    kept.write(b"1\n")
    os.truncate(tmp_path / "kept", 0)

    with pytest.raises(DoctorError, match="another file is there now"):
        kept.write(b"2\n")


def test_path_that_was_relative_is_found_from_elsewhere(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    kept = KeptFile("kept")
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    os.close(kept._descriptor)
    kept.write(b"1\n")
    kept.close()

    assert (tmp_path / "kept").read_bytes() == b"1\n"


def test_numbers_of_standard_streams_are_left_to_the_program(tmp_path):
    held = os.dup(0)
    os.close(0)
    try:
        kept = KeptFile(tmp_path / "kept")
        number = kept._descriptor
        kept.close()
    finally:
        os.dup2(held, 0)
        os.close(held)

    assert number > 2
