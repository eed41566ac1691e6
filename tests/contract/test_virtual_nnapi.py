"""NNAPI on a virtual phone of its own, in namespaces where the host allows them, and without."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from android_runner.virtual.perf_test.build import build_standin
from tests.virtual_lab import VirtualLab

_RUN = "./onnxruntime_perf_test -e nnapi -m times -r 3 -I -x 1"


@pytest.mark.parametrize("confinement", ["auto", "unconfined"])
def test_partitions_run_on_a_phone(tmp_path: Path, mnist: Path, confinement: str) -> None:
    binary, library = build_standin(tmp_path / "binaries")
    with VirtualLab(tmp_path / "home", confinement=confinement) as lab:
        (phone,) = lab.up("pixel-8")
        work = lab.shell(phone, "echo $TMPDIR").stdout.decode().strip()
        made = lab.shell(phone, f"mkdir -p {work}/m")
        assert made.returncode == 0
        for source, target in ((binary, "onnxruntime_perf_test"), (library, library.name), (mnist, "m/model.onnx")):
            pushed = lab.adb("-s", phone.serial, "push", str(source), f"/data/local/tmp/{target}")
            assert pushed.returncode == 0, pushed.stderr
        go = f"cd {work} && chmod 755 onnxruntime_perf_test && export LD_LIBRARY_PATH=."
        done = lab.shell(phone, f"{go} && {_RUN} -v -p trace m/model.onnx")
        assert b"P999 Latency" in done.stdout, done.stderr
        trace = lab.shell(phone, f"cat {work}/trace_*.json").stdout.decode()
        names = set(re.findall(r'"name" :"(NnapiExecutionProvider_Nnapi_\d+_0_0)_kernel_time"', trace))
        assert len(names) == 1
        assert trace.count('"cat" : "Node"') == 4
        log = lab.shell(phone, "logcat -d -s onnxruntime").stdout.decode()
        assert re.search(r"partitions supported by NNAPI: 1 number of nodes in the graph: 8 .*NNAPI: 8", log)
        half = lab.shell(phone, f"{go} && {_RUN} -i 'NNAPI_FLAG_USE_FP16 NNAPI_FLAG_CPU_DISABLED' m/model.onnx")
        assert b"P999 Latency" in half.stdout, half.stderr
        kept = lab.shell(phone, "ls ${ORCH_ROOT-}/data/vendor/nnapi-cache").stdout.split()
        assert len(kept) == 2
