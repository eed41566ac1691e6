"""Virtual phones: a product of their own, reached only through a true adb server.

    from pathlib import Path
    from android_runner.virtual import lifecycle

    phones = lifecycle.up(home, [("pixel-8", 1), ("redmi-go", 2)], adb_path, slots=1)
    server = lifecycle.ensure_server(home, adb_path)   # .port, .env (for an adb client process)
    phones[0].serial                                   # "127.0.0.1:40321": the transport's name on that server
    lifecycle.down(home)                               # no process is left, nor the server

`adb_path` is the adb program; this package does not look for one. In tests, `tests/virtual_lab.py` wraps this as a
class and a pytest fixture.

Control, by files that act at once:
`vitals.set_vitals(home, serialno, …)` (battery, heat) and `faults.write_faults(phone_dir, FaultPlan(…))` with
`phone_dir = state.Places(home).phone(serialno)`.

Parts: `lifecycle` (up, listing, down), `server` (the private adb server), `daemon` (the process), `phone` (one phone in
it); `link`, `stream`, `packets`, `auth` (the transport protocol); `shell_service`, `child`, `gathering`,
`shell_packets`, `sync_service`, `sync_transfer`, `phone_fs`, `session` (services); `confinement`, `root_tree`,
`identity`, `host_tools`, `slots` (what a shell sees); `faults`, `vitals`, `state`, `processes`.
"""
