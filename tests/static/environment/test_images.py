"""Images without a C compiler, and cache folders that ranks share: what is found, and what may be otherwise and is not."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from triton_doctor.settings import load_settings
from triton_doctor.static.environment.read_file import read_settings
from triton_doctor.static.scan import scan
from triton_doctor.static.sources.workspace import find_workspace

if TYPE_CHECKING:
    from pathlib import Path

    from triton_doctor.static.environment.setting import MissingCompiler

CUDA = "FROM nvidia/cuda:12.4.1-runtime-ubuntu22.04\n"
SLIM = "FROM python:3.12-slim\n"
BARE_PYTHON = "RUN apt-get update && apt-get install -y --no-install-recommends python3 python3-pip\n"


def missing(text: str) -> MissingCompiler | None:
    """What the Dockerfile `text` lacks."""
    file = read_settings("Dockerfile", text.encode())
    return None if file is None else file.missing_compiler


@pytest.mark.parametrize(
    ("text", "package", "headers"),
    [
        pytest.param(CUDA + BARE_PYTHON + "RUN pip install torch triton==3.2.0", "torch", "python3-dev", id="runtime"),
        pytest.param(SLIM + "RUN pip install --no-cache-dir 'vllm>=0.9'", "vllm", None, id="slim has headers"),
        pytest.param(SLIM + 'RUN pip install "sglang[all]"', "sglang", None, id="an extra"),
        pytest.param(SLIM + "RUN pip install \\\n  numpy \\\n  torch==2.6.0", "torch", None, id="lines that go on"),
        pytest.param("FROM docker.io/library/" + SLIM[5:] + "RUN pip install triton", "triton", None, id="a registry"),
        pytest.param("ARG BASE=python:3.12-slim\nFROM ${BASE}\nRUN pip install triton", "triton", None, id="an argument"),
        pytest.param(
            "FROM ubuntu:24.04\nRUN curl -LsSf https://astral.sh/uv/install.sh | sh && uv pip install torch",
            "torch",
            None,
            id="uv installs itself",
        ),
        pytest.param(
            "FROM debian:12\nRUN apt-get install -y --no-install-recommends python3.11 gcc && pip install triton "
            "&& apt-get purge -y gcc",
            "triton",
            "python3.11-dev",
            id="a compiler that is removed again",
        ),
        pytest.param(SLIM[:-1] + " AS base\nFROM base\nRUN pip install vllm", "vllm", None, id="a stage of a stage"),
        pytest.param(
            "FROM python:3.12 AS b\nRUN pip install torch==2.6.0 gcc\n" + SLIM + "COPY --from=b /opt/venv /opt/venv",
            "torch",
            None,
            id="copied from a stage that has a compiler",
        ),
        pytest.param(
            "FROM python:3.12 AS b\nRUN python -m venv /v && /v/bin/pip install torch==2.6.0\n"
            + SLIM
            + "COPY --from=b /v /v",
            "torch",
            None,
            id="a folder of packages with another name",
        ),
        pytest.param(SLIM + "RUN pip install --no-cache-dir -r requirements.txt", "", None, id="requirements"),
        pytest.param(SLIM + "RUN uv sync --frozen", "", None, id="a lock file"),
        pytest.param(SLIM + "COPY . .\nRUN pip install .[serve]", "", None, id="the project itself"),
    ],
)  # fmt: skip
def test_image_that_installs_triton_on_a_bare_base_lacks_a_compiler(text: str, package: str, headers: str) -> None:
    found = missing(text)

    assert found is not None
    assert (found.package, found.headers) == (package, headers)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("FROM nvidia/cuda:12.4.1-devel-ubuntu22.04\nRUN pip install torch", id="devel"),
        pytest.param("FROM team/app-runtime:3\nRUN pip install torch", id="an unknown base"),
        pytest.param("FROM $BASE\nRUN pip install torch", id="a base from outside"),
        pytest.param(SLIM + "RUN apt-get install -y build-essential\nRUN pip install torch", id="build-essential"),
        pytest.param(SLIM + "RUN apt-get install -y clang-15 && pip install torch", id="clang"),
        pytest.param(SLIM + "RUN apt-get install -y $PACKAGES && pip install torch", id="packages by a variable"),
        pytest.param(SLIM + "COPY setup.sh .\nRUN ./setup.sh && pip install torch", id="a script"),
        pytest.param(CUDA + "RUN apt-get install -y python3-pip\nRUN pip install vllm", id="pip recommends one"),
        pytest.param(SLIM + "RUN conda install -y pytorch gxx_linux-64 && pip install triton", id="conda's compiler"),
        pytest.param(SLIM + "ENV CC=/opt/zig/cc\nRUN pip install torch", id="CC"),
        pytest.param(SLIM + "RUN pip install torch --index-url https://download.pytorch.org/whl/cpu", id="for CPUs"),
        pytest.param(SLIM + "RUN pip install torch==2.14.0", id="a Triton that brings its module"),
        pytest.param(SLIM + "RUN pip install torchvision triton-model-analyzer torch-fidelity", id="other packages"),
        pytest.param(SLIM + "RUN pip install torch\nFROM gcr.io/distroless/cc\nCOPY x /x", id="not the last stage"),
        pytest.param("FROM python:3.12 AS b\nRUN pip install vllm\n" + SLIM + "COPY --from=b / /", id="all of a stage"),
        pytest.param(
            "FROM python:3.12 AS b\nRUN pip install torch==2.6.0\n" + SLIM + "COPY --from=b /app/dist /srv",
            id="its output",
        ),
        pytest.param(SLIM + "RUN echo 'no torch here'", id="nothing installed"),
    ],
)
def test_image_that_may_have_a_compiler_or_needs_none_is_silent(text: str) -> None:
    assert missing(text) is None


def test_kernels_that_are_copied_into_the_cache_folder_are_seen() -> None:
    text = SLIM + "RUN pip install triton==3.6.0\nCOPY kernels/ /opt/kernels\nENV TRITON_CACHE_DIR=/opt/kernels"

    found = missing(text)

    assert found is not None
    assert found.has_kernels


NODES = "#!/bin/bash\n#SBATCH --nodes=4\n"


@pytest.mark.parametrize(
    ("name", "text", "certain"),
    [
        pytest.param("job.sbatch", NODES + "export TRITON_CACHE_DIR=/fsx/kernels\nsrun python a.py", True, id="fsx"),
        pytest.param("job.sh", NODES + 'export TRITON_CACHE_DIR="$HOME/k"\nsrun python a.py', False, id="home"),
        pytest.param(
            "run.sh", "export TRITON_HOME=/mnt/nfs/me\ntorchrun --nproc_per_node=8 train.py", True, id="ranks of a node"
        ),
        pytest.param(
            "run.sh", "export TRITON_HOME=/efs/me\naccelerate launch --num_processes 8 a.py", True, id="ranks of accelerate"
        ),
        pytest.param("job.sh", NODES + "export TRITON_CACHE_DIR=/fsx/$SLURM_PROCID", None, id="one for each rank"),
        pytest.param("job.sh", NODES + "export TRITON_CACHE_DIR=/local/k", None, id="a local disk"),
        pytest.param("job.sh", "export TRITON_CACHE_DIR=/fsx/k\npython train.py", None, id="one process"),
        pytest.param(
            "pod.yaml",
            "spec:\n  containers:\n  - env:\n    - name: TRITON_CACHE_DIR\n      value: /cache/k\n    volumeMounts:\n"
            "    - name: kernels\n      mountPath: /cache\n  volumes:\n  - name: kernels\n    nfs:\n      path: /x\n",
            True,
            id="a manifest",
        ),
        pytest.param(
            "compose.yaml",
            "services:\n  a:\n    environment: [TRITON_CACHE_DIR=/cache/k]\n    volumes:\n"
            "    - {type: volume, source: kernels, target: /cache}\n"
            "volumes:\n  kernels: {driver_opts: {type: nfs4, device: ':/x'}}\n",
            True,
            id="a compose file in flow style",
        ),
        pytest.param(
            "pod.yaml",
            "spec:\n  containers:\n  - env:\n    - name: TRITON_CACHE_DIR\n      value: /cache/k\n    volumeMounts:\n"
            "    - name: kernels\n      mountPath: /cache\n  volumes:\n  - name: kernels\n    hostPath:\n      path: /x\n",
            None,
            id="a volume of the node",
        ),
        pytest.param(
            "pod.yaml",
            "spec:\n  containers:\n  - env:\n    - {name: TRITON_CACHE_DIR, value: /cache/k}\n    - name: X\n"
            "      value: {{ .Values.x }}\n  volumes:\n  - name: kernels\n    nfs: {path: /x}\n",
            None,
            id="a template",
        ),
    ],
)  # fmt: skip
def test_folder_on_the_network_is_shared_by_ranks(name: str, text: str, certain: bool | None) -> None:
    file = read_settings(name, text.encode())

    assert file is not None
    assert [one.shared and one.shared.certain for one in file.settings if one.variable.startswith("TRITON")] == [
        certain
    ]


@pytest.mark.parametrize(
    ("dockerfile", "installs", "lists", "package"),
    [
        pytest.param("Dockerfile", "-r requirements.txt", "requirements.txt", "triton", id="beside it"),
        pytest.param("Dockerfile", "-r /tmp/requirements.txt", "requirements.txt", "triton", id="copied elsewhere"),
        pytest.param("Dockerfile", ".", "setup.cfg", "triton", id="the project"),
        pytest.param("Dockerfile", "-r docs.txt", "requirements.txt", None, id="another list"),
        pytest.param("docs/Dockerfile", "-r requirements.txt", "requirements.txt", None, id="a list of another folder"),
    ],
)
def test_list_that_an_image_installs_is_that_beside_its_dockerfile(
    tmp_path: Path, dockerfile: str, installs: str, lists: str, package: str | None
) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / dockerfile).write_text(f"{SLIM}RUN pip install {installs}\n")
    (tmp_path / lists).write_text("[options]\ninstall_requires =\n  triton\n" if lists == "setup.cfg" else "triton\n")
    workspace = find_workspace([tmp_path], load_settings(tmp_path), cwd=tmp_path)

    found = scan(workspace.files, workspace.settings, cwd=tmp_path).findings

    assert [one.message.split("`")[1] for one in found if one.code == "TRD107"] == [package] * (package is not None)
