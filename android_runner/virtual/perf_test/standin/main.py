"""The program: reads its command line, makes a session, measures, and ends with the true program's exit status."""

from __future__ import annotations

import os
import sys
from _signal import (  # type: ignore[import-not-found]  # `signal` would load `enum`, a tenth of the start-up
    SIG_DFL,
    SIGINT,
    SIGPIPE,
    SIGSEGV,
    SIGXFSZ,
    signal,
)
from ctypes import c_void_p
from time import perf_counter_ns

from android_runner.virtual.perf_test.standin.android import Logged, end_profiling
from android_runner.virtual.perf_test.standin.dialect import Dialect
from android_runner.virtual.perf_test.standin.failure import DiesBySegfault, PerfTestError
from android_runner.virtual.perf_test.standin.inputs import NoData, check_config, generate, load, model_name
from android_runner.virtual.perf_test.standin.measuring import NS, RunFailed, Runner, serialize, summary
from android_runner.virtual.perf_test.standin.misbehaving import misbehave
from android_runner.virtual.perf_test.standin.model_file import check_model, parse_failure
from android_runner.virtual.perf_test.standin.nnapi import Nnapi, is_own_line
from android_runner.virtual.perf_test.standin.options import Options, Usage
from android_runner.virtual.perf_test.standin.ortapi import (
    INVALID_PROTOBUF,
    LOG_VERBOSE,
    LOG_WARNING,
    Api,
    LibraryMissing,
    OrtError,
    Session,
    SessionOptions,
)
from android_runner.virtual.perf_test.standin.output import STDERR, Output, number, write_all
from android_runner.virtual.perf_test.standin.pace import Slowed
from android_runner.virtual.perf_test.standin.phone import Phone, find_phone

FAILED = 255
LOADER_FAILED = 127
_ALLOW_SPINNING = "session.intra_op.allow_spinning"
_AFFINITIES = "session.intra_op_thread_affinities"
_FORCE_SPINNING_STOP = "session.force_spinning_stop"
_DENORMAL_AS_ZERO = "session.set_denormal_as_zero"


class _Configuration:
    """Makes the session's options in the true program's order, saying what it says on the way."""

    def __init__(self, api: Api, options: Options, output: Output) -> None:
        self._options = options
        self._output = output
        self._session_options = SessionOptions(api)

    def session_options(self) -> SessionOptions:
        """Everything that the command line sets; raises `OrtError`."""
        options, target = self._options, self._session_options
        parallel = "P" in options.flags
        target.arena("A" not in options.flags)
        target.memory_pattern("M" not in options.flags and not parallel)
        target.parallel(parallel)
        for key, value in options.config.items():
            target.config(key, value)
        self._threads()
        if options.custom_ops:
            target.custom_ops(options.custom_ops)
        if parallel and options.inter_threads > 0:
            self._output.line(f"Setting inter_op_num_threads to {options.inter_threads}")
            target.inter_threads(options.inter_threads)
        target.level(options.level)
        if options.profile_prefix:
            target.profile(options.profile_prefix)
        if options.optimized_path:
            target.save_optimized(options.optimized_path)
        if "z" in options.flags:
            self._entry(_DENORMAL_AS_ZERO, "1")
        self._dimensions()
        return target

    def _threads(self) -> None:
        options = self._options
        if options.intra_threads > 0:
            self._output.line(f"Setting intra_op_num_threads to {options.intra_threads}")
            self._session_options.intra_threads(options.intra_threads)
        if options.affinities:
            said = f"Setting intra op thread affinity as {options.affinities}"
            self._entry(_AFFINITIES, options.affinities, said)
        if "D" in options.flags:
            self._entry(_ALLOW_SPINNING, "0", "Disabling intra-op thread spinning entirely")
        if "Z" in options.flags:
            self._entry(_FORCE_SPINNING_STOP, "1", "Disabling intra-op thread spinning between runs")

    def _entry(self, key: str, value: str, said: str = "") -> None:
        """A config entry that has an option of its own, and a warning where `-C` sets it too."""
        if key in self._options.config:
            warning = f"[WARNING]: Trying to set session config entry '{key}' via multiple command-line options\n"
            write_all(STDERR, warning)
        if said:
            self._output.line(said)
        self._session_options.config(key, value)

    def _dimensions(self) -> None:
        for name, value in sorted(self._options.dims_by_name.items()):
            self._dimension(name, value, "name", "ByName failed for named dimension", by_denotation=False)
        for name, value in sorted(self._options.dims_by_denotation.items()):
            self._dimension(name, value, "denotation", " failed for dimension denotation", by_denotation=True)

    def _dimension(self, name: str, value: int, kind: str, failure: str, *, by_denotation: bool) -> None:
        try:
            self._session_options.dimension(name, value, by_denotation=by_denotation)
        except OrtError:
            write_all(STDERR, f"AddFreeDimensionOverride{failure}: {name}\n")
        else:
            self._output.line(f"Overriding dimension with {kind}, {name}, to {value}")


def _create_session(
    api: Api, env: c_void_p, options: Options, output: Output, dialect: Dialect, nnapi: Nnapi | None
) -> Session:
    if options.backend != "ort":
        raise PerfTestError(f"{options.backend} is not supported")
    if options.provider not in ("cpu", "openvino") and nnapi is None:
        raise PerfTestError(dialect.providers_not_built[options.provider])
    session_options = _Configuration(api, options, output).session_options()
    path = options.model if nnapi is None else nnapi.before_session(options)
    if options.provider == "openvino":
        raise PerfTestError(dialect.providers_not_built[options.provider])
    model: str | bytes = path
    if "l" in options.flags:
        with open(path, "rb", buffering=0) as file:
            model = file.readall()
    try:
        session = Session(api, env, model, session_options)
    except OrtError as error:
        if error.code != INVALID_PROTOBUF:
            raise
        output.discard()
        raise parse_failure(options.model, dialect) from error
    for at in range(len(session.output_names)):
        if session.output_type(at) is None:
            raise DiesBySegfault
    if nnapi is not None:
        nnapi.after_session()
    return session


def _end_session(api: Api, session: Session, options: Options, nnapi: Nnapi | None) -> None:
    if nnapi is not None and options.profile_prefix:
        nnapi.finish_trace(end_profiling(api, session))
    session.release()


def _log_level(options: Options) -> int:
    return LOG_VERBOSE if "v" in options.flags else LOG_WARNING


def _logged(api: Api, options: Options, phone: Phone) -> Logged:
    """An environment whose log goes to logcat, as on Android."""
    to_logcat = phone.log

    def sink(severity: str, logger: str, location: str, text: str) -> None:
        if options.provider != "nnapi" or not is_own_line(location, text):
            to_logcat(severity, logger, location, text)

    return Logged(api, _log_level(options), sink)


def _measure(api: Api, session: Session, session_s: float, options: Options, output: Output, dialect: Dialect) -> int:
    """Everything after the session stands; the exit status."""
    try:
        check_config(options.model)
        if "I" in options.flags:
            inputs = generate(api, session, options.seed, output, dialect)
        else:
            inputs = load(api, session, options.model, output, dialect)
        runner = Runner(session, inputs, options, output, dialect)
        runner.measure()
    except NoData:
        output.line("Run failed:failed to initialize.")
        return FAILED
    except RunFailed as failure:
        output.line(f"Run failed:{failure}")
        return FAILED
    output.text(summary(runner, session_s))
    output.flush()
    serialize(runner, options, model_name(options.model), output)
    return 0


def _run(api: Api, options: Options, output: Output, dialect: Dialect) -> int:
    phone = find_phone()
    logged = None
    if phone is not None:
        phone.adapt(options)
        logged = _logged(api, options, phone)
    env = api.environment(_log_level(options)) if logged is None else logged.env
    check_model(options.model, dialect)
    nnapi = Nnapi(phone, options, dialect) if phone is not None and options.provider == "nnapi" else None
    start = perf_counter_ns()
    session = _create_session(api, env, options, output, dialect, nnapi)
    if phone is not None and phone.pace is not None:
        phone.pace.stretch(start)
        session.run_function = Slowed(session.run_function, phone.pace)
    session_s = (perf_counter_ns() - start) / NS
    try:
        if "n" in options.flags:
            output.text(f"\nSession creation time cost: {number(session_s)} s\n")
            status = 0
        else:
            status = _measure(api, session, session_s, options, output, dialect)
    except PerfTestError:
        _end_session(api, session, options, nnapi)
        raise
    _end_session(api, session, options, nnapi)
    return status


def _program(arguments: list[str], output: Output, dialect: Dialect) -> int:
    program = arguments[0]
    try:
        api = Api()
    except LibraryMissing as missing:
        write_all(STDERR, f"{program}: error while loading shared libraries: {missing}\n")
        return LOADER_FAILED
    try:
        options = dialect.parse(program, arguments[1:], dialect)
    except Usage as refusal:
        write_all(STDERR, refusal.complaint)
        output.text(refusal.text)
        return refusal.status
    try:
        return _run(api, options, output, dialect)
    except PerfTestError as error:
        write_all(STDERR, f"{error}\n")
        return FAILED


def main(dialect: Dialect) -> None:
    """Run and end the process; no destructor of a library can change its status."""
    for number_of in (SIGINT, SIGPIPE, SIGXFSZ):
        signal(number_of, SIG_DFL)
    output = Output()
    try:
        status = _program(sys.argv, output, dialect)
        if status == 0:
            misbehave(output, sys.argv)
    except DiesBySegfault:
        os.kill(os.getpid(), SIGSEGV)
        status = FAILED
    output.flush()
    os._exit(status)
