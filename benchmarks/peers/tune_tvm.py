"""Tunes a network by TVM's MetaSchedule for a given time.

python benchmarks/peers/tune_tvm.py MODEL.onnx --seconds 600 -o FOLDER
TVM_DATABASE=FOLDER python benchmarks/compare.py --peers tvm ...

The tuner knows numbers of trials and no time: it runs in a process of its own, which is ended
when the time is over. What it found until then is in the folder. Kernels are tuned one after
the other, those with the most arithmetic first: left to itself, the tuner visits all of them
before it writes down anything, which takes half an hour for ResNet-50.
"""

import argparse
import os
import signal
import subprocess
import sys
from pathlib import Path

# pyright: basic, reportMissingImports=false

TRIALS = 64
"""Schedules that are measured for a kernel, in one round of the tuner."""

SLOWEST_BUILD_SECONDS = 120
"""The first build of each of the tuner's processes takes longer than its default limit."""


def main() -> int:
    parser = argparse.ArgumentParser(prog="tune_tvm", description=__doc__)
    parser.add_argument("model", type=Path)
    parser.add_argument("--seconds", type=int, default=600)
    parser.add_argument("-o", dest="folder", type=Path, required=True)
    parser.add_argument("--threads", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--trials", type=int, default=TRIALS, help="of a kernel")
    parser.add_argument("--now", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    arguments.folder.mkdir(parents=True, exist_ok=True)
    if arguments.now:
        tune(arguments.model, arguments.folder, arguments.threads, arguments.trials)
        return 0
    command = [
        sys.executable,
        __file__,
        arguments.model,
        "--now",
        "-o",
        arguments.folder,
        "--threads",
        str(arguments.threads),
        "--trials",
        str(arguments.trials),
    ]
    process = subprocess.Popen(command, start_new_session=True)
    try:
        return process.wait(arguments.seconds)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        return 0


def tune(model: Path, folder: Path, threads: int, trials: int) -> None:
    """Write the best schedules to `folder`, until it is ended."""
    import onnx
    from compilers import tvm_target
    from tvm import relax
    from tvm.relax.frontend.onnx import from_onnx
    from tvm.s_tir.meta_schedule import tune_tasks
    from tvm.s_tir.meta_schedule.builder import LocalBuilder
    from tvm.s_tir.meta_schedule.relax_integration import (
        extract_tasks,
        extracted_tasks_to_tune_contexts,
    )

    module = from_onnx(onnx.load(model), keep_params_in_input=False)
    module = relax.transform.DecomposeOpsForInference()(module)
    tasks = extract_tasks(relax.get_pipeline("zero")(module), tvm_target(threads))
    tasks.sort(key=operations, reverse=True)
    for task in tasks:  # A context takes a second: those of all come too late.
        tune_tasks(
            tasks=extracted_tasks_to_tune_contexts([task], str(folder))[0],
            task_weights=[1.0],
            work_dir=str(folder),
            max_trials_global=trials,
            num_trials_per_iter=trials,
            builder=LocalBuilder(timeout_sec=SLOWEST_BUILD_SECONDS),
        )


def operations(task) -> float:
    """Returns the arithmetic of a kernel in all its calls."""
    from tvm.s_tir.analysis import estimate_tir_flops

    return task.weight * estimate_tir_flops(task.dispatched[0])


if __name__ == "__main__":
    sys.exit(main())
