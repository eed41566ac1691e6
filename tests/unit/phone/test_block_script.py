"""The phone script under every shell of this machine: what it runs, writes and leaves."""

from __future__ import annotations

from android_runner.block import BlockEnding, Ending
from android_runner.device import PhonePath
from android_runner.phone.snapshots import read_snapshots
from tests.host_phone import HostPhone, block_of, task, until


def out(phone: HostPhone, task_id: str, name: str) -> bytes:
    return phone.local(block_of(task("x", "true")).directory / "out" / task_id / name).read_bytes()


def test_a_block_runs_in_order_and_each_trial_leaves_one_folder(phone: HostPhone) -> None:
    block = block_of(
        task("a", "/bin/sh", "-c", "echo out; echo err >&2; echo rows >result.csv"),
        task("b", "/bin/sh", "-c", "exit 7"),
        task("c", "/bin/sh", "-c", "pwd; cat", env={"X": "1"}),
    )
    journal = phone.run(block)
    assert journal.damage is None
    assert journal.ending is BlockEnding.DONE
    assert [(r.task_id, r.ending, r.exit_code) for r in journal.records.values()] == [
        ("a", Ending.EXITED, 0),
        ("b", Ending.EXITED, 7),
        ("c", Ending.EXITED, 0),
    ]
    assert out(phone, "a", "stdout") == b"out\n"
    assert out(phone, "a", "stderr") == b"err\n"
    assert out(phone, "a", "result.csv") == b"rows\n"
    assert out(phone, "c", "stdout").endswith(b"/part/c\n")
    assert list(phone.local(block.directory / "part").iterdir()) == []
    assert phone.lease() == "5"
    times = [t for r in journal.records.values() for t in (r.started_uptime_s, r.ended_uptime_s)]
    assert times == sorted(times)
    until(lambda: not phone.processes(), what="no process left")


def test_each_trial_stands_between_two_snapshots(phone: HostPhone) -> None:
    block = block_of(task("a", "true"), task("b", "true"))
    records = list(phone.run(block).records.values())
    assert records[0].after == records[1].before
    numbers = {n for r in records for n in (r.before, r.after) if n is not None}
    vitals = read_snapshots(phone.local(block.directory / "vitals").read_bytes(), numbers)
    assert set(vitals) == numbers
    for snapshot in vitals.values():
        assert snapshot.battery_level == 88
        assert snapshot.battery_c == 30.1
        assert snapshot.zones_c == {"cpu-0-0": 41.5, "battery": 30.1}
        assert snapshot.current_freq_khz == (1_800_000,)
        assert snapshot.boot_id == "11111111-2222-3333-4444-555555555555"
        assert snapshot.uptime_s is not None
        assert snapshot.load_1m is not None


def test_battery_and_thermal_status_by_dumpsys_where_files_are_closed(phone: HostPhone) -> None:
    phone.local("/sys/class/power_supply/battery/temp").unlink()
    calls = phone.root / "calls"
    stub = (
        '#!/bin/sh\necho "$1" >>"$ORCH_ROOT/calls"\n'
        'case $1 in battery) echo "  level: 61"; echo "  temperature: 298" ;; *) echo "Thermal Status: 2" ;; esac\n'
    )
    for name, text in (("dumpsys", stub), ("getprop", "#!/bin/sh\necho 29\n")):
        (phone.tools / name).write_text(text)
        (phone.tools / name).chmod(0o755)
    block = block_of(*[task(f"t{n}", "true") for n in range(5)])
    records = list(phone.run(block).records.values())
    vitals = read_snapshots(phone.local(block.directory / "vitals").read_bytes(), {r.before for r in records})
    assert {(v.battery_level, v.battery_c, v.thermal_status) for v in vitals.values()} == {(88, 29.8, 2)}
    assert sorted(calls.read_text().split()) == ["battery", "deviceidle", "power", "thermalservice"], (
        "asked once in ten seconds"
    )


def test_no_word_of_a_list_is_read_by_the_shell(phone: HostPhone) -> None:
    words = ["it's", '"q"', "$(touch pwned)", "`id`", "a\nb", "$HOME", "*", "", "-n", "naïve Ω", "\\n \\", "; exit 9"]
    show = 'for w in "$@"; do printf "<%s>" "$w"; done; printf "%s" "$HOSTILE" "$ROOTED"'
    env = {"HOSTILE": "$(touch pwned)\n'", "ROOTED": PhonePath("/data/x y")}
    block = block_of(
        task("a", "/bin/sh", "-c", show, "sh", *words, PhonePath("/data/it's"), env=env),
        task("b", "$(touch pwned)"),
    )
    journal = phone.run(block)
    root = str(phone.root)
    expected = "".join(f"<{w}>" for w in [*words, f"{root}/data/it's"]) + env["HOSTILE"] + f"{root}/data/x y"
    assert out(phone, "a", "stdout").decode() == expected
    assert journal.records["b"].exit_code == 127
    assert not list(phone.root.rglob("pwned"))


def test_a_signal_shows_in_the_exit_code(phone: HostPhone) -> None:
    signals = {"segv": ("SEGV", 139), "kill": ("KILL", 137), "abrt": ("ABRT", 134)}
    block = block_of(*[task(name, "/bin/sh", "-c", f"kill -{sig} $$") for name, (sig, _) in signals.items()])
    journal = phone.run(block)
    assert {r.task_id: r.exit_code for r in journal.records.values()} == {n: c for n, (_, c) in signals.items()}
    assert {r.ending for r in journal.records.values()} == {Ending.EXITED}


def test_what_cannot_be_executed_is_a_result(phone: HostPhone) -> None:
    phone.write("/data/text", "no program")
    block = block_of(task("missing", "/nonexistent"), task("text", PhonePath("/data/text")))
    journal = phone.run(block)
    assert journal.records["missing"].exit_code == 127
    assert journal.records["text"].exit_code == 126
    assert out(phone, "text", "stderr")


def test_children_of_a_trial_end_with_it(phone: HostPhone) -> None:
    block = block_of(task("a", "/bin/sh", "-c", "sleep 300 & exit 3"), task("b", "true"))
    journal = phone.run(block)
    assert journal.records["a"].exit_code == 3
    until(lambda: not phone.processes(), what="no process left")


def test_the_watchdog_ends_a_trial_over_its_deadline_with_its_children(phone: HostPhone) -> None:
    block = block_of(
        task("hang", "/bin/sh", "-c", "sleep 300 & sleep 300", deadline_s=1),
        task("deaf", "/bin/sh", "-c", "trap '' TERM; while :; do sleep 1; done", deadline_s=1),
        task("next", "true"),
    )
    journal = phone.run(block)
    assert journal.ending is BlockEnding.DONE
    assert [r.ending for r in journal.records.values()] == [Ending.TIMED_OUT, Ending.TIMED_OUT, Ending.EXITED]
    assert journal.records["hang"].exit_code == 143
    assert journal.records["deaf"].exit_code == 137
    until(lambda: not phone.processes(), what="no process left")


def test_time_in_a_queue_is_not_counted(phone: HostPhone) -> None:
    queue = "touch waiting; sleep 4; rm waiting; exec sleep 0.1"
    journal = phone.run(block_of(task("a", "/bin/sh", "-c", queue, deadline_s=2)))
    assert journal.records["a"].ending is Ending.EXITED


def test_stop_lets_the_running_trial_end(phone: HostPhone) -> None:
    block = block_of(task("a", "sleep", "1"), task("b", "true"))
    script = phone.start(block)
    until(lambda: phone.journal(block).running(), what="the first trial")
    phone.write(block.directory / "stop", "")
    script.wait(timeout=20)
    journal = phone.journal(block)
    assert journal.ending is BlockEnding.STOPPED
    assert [(r.task_id, r.ending) for r in journal.records.values()] == [("a", Ending.EXITED)]


def test_kill_ends_the_running_trial_too(phone: HostPhone) -> None:
    block = block_of(task("a", "/bin/sh", "-c", "sleep 300 & sleep 300", deadline_s=600), task("b", "true"))
    script = phone.start(block)
    until(lambda: phone.journal(block).running(), what="the first trial")
    phone.write(block.directory / "kill", "")
    script.wait(timeout=20)
    journal = phone.journal(block)
    assert journal.ending is BlockEnding.STOPPED
    assert [(r.task_id, r.ending) for r in journal.records.values()] == [("a", Ending.STOPPED)]
    until(lambda: not phone.processes(), what="no process left")


def test_a_result_folder_is_never_seen_in_part(phone: HostPhone) -> None:
    block = block_of(*[task(f"t{n}", "/bin/sh", "-c", "echo x >r") for n in range(30)])
    script = phone.start(block)
    folder = phone.local(block.directory / "out")
    seen = 0
    while script.poll() is None:
        for made in folder.iterdir() if folder.exists() else []:
            assert {f.name for f in made.iterdir()} == {"stdout", "stderr", "process", "r", "rc"}
            seen += 1
    assert seen or len(list(folder.iterdir())) == 30
