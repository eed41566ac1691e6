"""Runs the model and says what it took: the warm-up, the loop, the statistics, the result file."""

from __future__ import annotations

import os
from _thread import allocate_lock, start_new_thread
from ctypes import c_void_p
from resource import RUSAGE_SELF, getrusage
from time import perf_counter_ns

from android_runner.virtual.perf_test.standin.dialect import Dialect
from android_runner.virtual.perf_test.standin.inputs import Inputs
from android_runner.virtual.perf_test.standin.options import Options
from android_runner.virtual.perf_test.standin.ortapi import OrtError, Session
from android_runner.virtual.perf_test.standin.output import STDERR, Output, number, write_all

NS = 1e9
_QUANTILES = (("P50", 0.5), ("P90", 0.9), ("P95", 0.95), ("P99", 0.99), ("P999", 0.999))


class RunFailed(Exception):
    """The first inference or one of a sequence of them failed."""


def _caught(error: OrtError) -> str:
    return f"PerformanceRunner::RunOneIteration caught exception: {error}"


class CpuClock:
    """Share of the machine that this process used, by the ticks of times(2)."""

    def __init__(self) -> None:
        self._start = os.times()

    def percent(self) -> int:
        """Whole percent of all physical cores since the start; -1 when no tick has passed."""
        start, now = self._start, os.times()
        elapsed_s = round(now.elapsed - start.elapsed, 2)
        if elapsed_s <= 0:
            return -1
        used_s = now.user - start.user + now.system - start.system
        return int(100.0 * round(used_s, 2) / elapsed_s / physical_cores())


def physical_cores() -> int:
    """As the true program counts them without cpuinfo: half of the logical ones."""
    return max(1, (os.cpu_count() or 1) // 2)


class Runner:
    """One session with its inputs, and the latencies of its runs in nanoseconds."""

    def __init__(self, session: Session, inputs: Inputs, options: Options, output: Output, dialect: Dialect) -> None:
        self._session = session
        self._options = options
        self._output = output
        self.dialect = dialect
        self._outputs = (c_void_p * len(session.output_names))()
        self._arguments = [session.run_arguments(tensors, self._outputs) for tensors in inputs.sets]
        self._choice = int.from_bytes(os.urandom(4), "little") | 1
        self._results = allocate_lock()
        self.latencies_ns: list[int] = []
        self.first_ns = 0
        self.loop_ns = 0
        self.cpu_percent = 0
        self.peak_bytes = 0

    def measure(self) -> None:
        """The warm-up and all runs; raises `RunFailed`."""
        start = perf_counter_ns()
        status = self._session.run_function(*self._pick())
        self.first_ns = perf_counter_ns() - start
        if status:
            failure = RunFailed(_caught(self._session.error(status)))
            if self.dialect.checked_warm_up:
                raise failure
        start = perf_counter_ns()
        clock = CpuClock()
        if self._options.concurrent_runs > 1:
            self._concurrent()
        elif len(self._arguments) > 1 or "v" in self._options.flags or not self._options.by_times:
            self._one_after_another()
        else:
            self._repeat()
        self.loop_ns = perf_counter_ns() - start
        self.cpu_percent = clock.percent()
        self.peak_bytes = getrusage(RUSAGE_SELF).ru_maxrss * 1024

    def _pick(self) -> tuple[object, ...]:
        """The arguments for one data set, drawn at random where there are several."""
        if len(self._arguments) == 1:
            return self._arguments[0]
        choice = self._choice
        choice ^= (choice << 13) & 0xFFFFFFFF
        choice ^= choice >> 17
        choice ^= (choice << 5) & 0xFFFFFFFF
        self._choice = choice
        return self._arguments[choice % len(self._arguments)]

    def _repeat(self) -> None:
        """The common case, with nothing between two runs but the clock."""
        run, clock, keep = self._session.run_function, perf_counter_ns, self.latencies_ns.append
        session, no_options, names, values, n_values, output_names, n_outputs, outputs = self._arguments[0]
        for _ in range(self._options.repetitions):
            start = clock()
            status = run(session, no_options, names, values, n_values, output_names, n_outputs, outputs)
            end = clock()
            if status:
                raise RunFailed(_caught(self._session.error(status)))
            keep(end - start)

    def _one_after_another(self) -> None:
        """Runs with a choice of inputs, a line for each, or until their times add up to the duration."""
        limit_ns = self._options.duration_s * NS
        total_ns = 0
        done = 0
        while done < self._options.repetitions if self._options.by_times else total_ns < limit_ns:
            latency_ns = self._run_once()
            total_ns += latency_ns
            done += 1

    def _run_once(self) -> int:
        arguments = self._pick()
        run = self._session.run_function
        start = perf_counter_ns()
        status = run(*arguments)
        end = perf_counter_ns()
        if status:
            raise RunFailed(_caught(self._session.error(status)))
        with self._results:
            self.latencies_ns.append(end - start)
            if "v" in self._options.flags:
                self._output.line(_iteration(len(self.latencies_ns), number((end - start) / NS), self.dialect))
                self._output.flush()
        return end - start

    def _concurrent(self) -> None:
        """`-c` callers at once on one session; a run that fails is told on stderr and changes nothing else."""
        options = self._options
        lock, ended = allocate_lock(), allocate_lock()
        callers = options.concurrent_runs if options.by_times else min(options.concurrent_runs, physical_cores())
        left = [options.repetitions if options.by_times else 1 << 62, callers]
        deadline_ns = perf_counter_ns() + (1 << 62 if options.by_times else int(options.duration_s * NS))

        def call() -> None:
            while perf_counter_ns() < deadline_ns:
                with lock:
                    left[0] -= 1
                    if left[0] < 0:
                        break
                try:
                    self._run_once()
                except RunFailed as failure:
                    write_all(STDERR, str(failure))
            with lock:
                left[1] -= 1
                if left[1] == 0:
                    ended.release()

        ended.acquire()
        for _ in range(callers):
            start_new_thread(call, ())
        ended.acquire()


def summary(runner: Runner, session_s: float) -> str:
    """The lines that every finished measurement prints."""
    latencies_ns = runner.latencies_ns
    total_s = sum(latencies_ns) / NS
    loop_s = runner.loop_ns / NS
    count = len(latencies_ns)
    average = _average(total_s / count * 1000 if count else None, runner.dialect)
    lines = [
        f"Session creation time cost: {number(session_s)} s\n",
        f"First inference time cost: {runner.first_ns // 1_000_000} ms\n" if runner.dialect.first_inference else "",
        f"Total inference time cost: {number(total_s)} s\n",
        f"Total inference requests: {count}\n",
        average,
        f"Total inference run time: {number(loop_s)} s\n",
        f"Number of inferences per second: {number(count / loop_s)} \n" if runner.dialect.rate else "",
        f"Avg CPU usage: {runner.cpu_percent} %\n",
        f"Peak working set size: {runner.peak_bytes} bytes\n",
    ]
    return "".join(lines)


def _average(average_ms: float | None, dialect: Dialect) -> str:
    """`std::to_string` has six decimals, a stream six digits; a sum over nothing is not a number."""
    if dialect.total_average:
        text = "-nan" if average_ms is None else "%f" % average_ms  # noqa: UP031 - as `std::to_string`
        return f"Average inference time cost total: {text} ms\n"
    return f"Average inference time cost: {'-nan' if average_ms is None else number(average_ms)} ms\n"


def _iteration(at: int, cost: str, dialect: Dialect) -> str:
    """What -v says of one run; on the CPU submission and end are the same moment."""
    if dialect.total_average:
        return f"iteration:{at},time_cost_submission:{cost},time_cost_total:{cost}"
    return f"iteration:{at},time_cost:{cost}"


def percentiles(latencies_ns: list[int]) -> str:
    """Min, max and the five quantiles: the element at `int(n * q)` of the sorted latencies."""
    ordered = sorted(latencies_ns)
    lines = [("Min", ordered[0]), ("Max", ordered[-1])]
    lines += [(name, ordered[int(len(ordered) * share)]) for name, share in _QUANTILES]
    return "".join([f"{name} Latency: {number(value / NS)} s\n" for name, value in lines])


def serialize(runner: Runner, options: Options, name: str, output: Output) -> None:
    """Append to the result file, one row for each run; without one, or when it cannot be opened, to stdout."""
    statistics = "s" in options.flags
    descriptor = -1
    if options.result_file:
        try:
            descriptor = os.open(options.result_file, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o666)
        except OSError:
            write_all(STDERR, f"failed to open result file '{options.result_file}'. will dump stats to output.\n")
            statistics = True
    if descriptor >= 0:
        tail = f",{runner.peak_bytes},{runner.cpu_percent},"
        rows = [f"{name},{number(value / NS)}{tail}{at}\n" for at, value in enumerate(runner.latencies_ns)]
        write_all(descriptor, "".join(rows))
    else:
        output.text(f"Avg CPU usage:{runner.cpu_percent}\nPeak working set size:{runner.peak_bytes}\n")
        output.line(f"Runs:{len(runner.latencies_ns)}")
    if statistics and runner.latencies_ns:
        text = percentiles(runner.latencies_ns)
        if descriptor >= 0:
            write_all(descriptor, f"\n{text}")
        output.text(text)
    if descriptor >= 0:
        os.close(descriptor)
