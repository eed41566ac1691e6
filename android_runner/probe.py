"""Asks a phone what it is and how it is: one shell call each, read by the pure functions of `facts`."""

from __future__ import annotations

import re
import secrets
from collections.abc import Mapping

from android_runner.deadline import Deadline
from android_runner.device import Device, PhonePath, quoted
from android_runner.errors import HostileAnswer
from android_runner.facts import (
    MAX_TEXT,
    PhoneFacts,
    Vitals,
    cleaned,
    parse_core_count,
    parse_free_bytes,
    parse_max_frequencies,
    parse_memory_bytes,
    parse_properties,
)
from android_runner.vitals_text import parse_vitals

MAX_ANSWER_BYTES = 1024 * 1024
TOOLS = frozenset(
    {
        "atrace",
        "busybox",
        "cat",
        "chmod",
        "cmd",
        "df",
        "dumpsys",
        "flock",
        "getprop",
        "grep",
        "id",
        "kill",
        "logcat",
        "ls",
        "mkdir",
        "mksh",
        "mv",
        "nohup",
        "pidof",
        "ps",
        "readlink",
        "rm",
        "sed",
        "setsid",
        "settings",
        "sh",
        "sha256sum",
        "simpleperf",
        "sleep",
        "stat",
        "su",
        "svc",
        "sync",
        "tail",
        "taskset",
        "timeout",
        "top",
        "touch",
        "toybox",
    }
)
"""Commands worth knowing about; the shell says which it finds."""
MAX_SECTION = 256 * 1024
_SECTIONS = (
    "properties",
    "machine",
    "cpuinfo",
    "possible",
    "clocks",
    "meminfo",
    "df",
    "id",
    "shell",
    "tools",
    "su",
    "page",
)
_LINUX_MACHINES = {
    "x86_64": "linux-x86_64",
    "i686": "linux-x86",
    "aarch64": "linux-aarch64",
    "armv7l": "linux-arm",
    "armv8l": "linux-arm",
}
"""What `uname -m` says, and the name of programs for it (`elf.BinaryFile.exec_abi`)."""
_ABI = re.compile(r"[A-Za-z0-9_.\-]{1,40}")


def facts_command(marker: str) -> str:
    """One shell command that prints all sections, each behind a line of `marker` and its name."""
    cpu = _rooted("/sys/devices/system/cpu")
    bodies = {
        "properties": "getprop",
        "machine": "uname -m",
        "cpuinfo": f"cat {_rooted('/proc/cpuinfo')}",
        "possible": f"cat {cpu}/possible",
        "clocks": f"grep -sH '' {cpu}/cpu[0-9]*/cpufreq/cpuinfo_max_freq "
        f"{cpu}/cpufreq/policy*/cpuinfo_max_freq {cpu}/cpufreq/policy*/related_cpus",
        "meminfo": f"cat {_rooted('/proc/meminfo')}",
        "df": f"df -k {_rooted('/data/local/tmp')}",
        "id": "id",
        "shell": 'echo "$KSH_VERSION"; toybox --version; readlink /proc/$$/exe',
        "tools": f"for t in {' '.join(sorted(TOOLS))}; do command -v $t >/dev/null && echo $t; done",
        "page": "getconf PAGE_SIZE",
        "su": 'readlink -f "$(command -v su)"',
    }
    return "\n".join(f"echo; echo {marker}{name}; {{ {bodies[name]}; }} 2>/dev/null" for name in _SECTIONS) + "\ntrue"


def vitals_command() -> str:
    """One shell command that prints a snapshot as the phone script writes them (see `vitals_text.parse_vitals`)."""
    files = " ".join(
        [
            _rooted("/proc/uptime"),
            _rooted("/proc/loadavg"),
            _rooted("/proc/sys/kernel/random/boot_id"),
            _rooted("/sys/class/power_supply/battery/capacity"),
            _rooted("/sys/class/power_supply/battery/temp"),
            _rooted("/sys/class/power_supply/battery/charge_full"),
            _rooted("/sys/class/power_supply/battery/charge_full_design"),
            _rooted("/sys/class/power_supply/battery/cycle_count"),
            _rooted("/sys/class/thermal") + "/thermal_zone*/type",
            _rooted("/sys/class/thermal") + "/thermal_zone*/temp",
            _rooted("/sys/devices/system/cpu/cpufreq") + "/policy*/scaling_cur_freq",
        ]
    )
    dumps = "\n".join(
        f"dumpsys {service} 2>/dev/null | sed 's/^/dumpsys-{service}:/'" for service in ("battery", "thermalservice")
    )
    return f"grep -sH '' {files}\n{dumps}\ntrue"


def probe_facts(device: Device, *, deadline: Deadline) -> PhoneFacts:
    """Ask the phone what it is. Raises `LinkError`; what the phone does not say is empty or 0."""
    marker = f"section-{secrets.token_hex(12)}-"
    result = device.shell(facts_command(marker), deadline=deadline, max_output_bytes=MAX_ANSWER_BYTES)
    sections = split_sections(result.text(), marker)
    if "properties" not in sections:
        raise HostileAnswer(
            f"{device.serial}: the shell does not answer with what it was asked: {cleaned(result.text())!r}"
        )
    return facts_from(sections, str(device.serial))


def read_vitals(device: Device, *, deadline: Deadline) -> Vitals:
    """Ask the phone how it is now. Raises `LinkError`."""
    return parse_vitals(device.shell(vitals_command(), deadline=deadline, max_output_bytes=MAX_ANSWER_BYTES).text())


def split_sections(text: str, marker: str) -> dict[str, str]:
    """The sections of an answer by name; pure."""
    pieces = text.split(f"\n{marker}")[1:]
    named = (piece.partition("\n") for piece in pieces)
    return {name: body[:MAX_SECTION] for name, _, body in named if name in _SECTIONS}


def facts_from(sections: Mapping[str, str], serial: str) -> PhoneFacts:
    """The facts in an answer's sections; pure. What is missing is empty or 0, the identity then the serial."""
    props = parse_properties(sections.get("properties", ""))
    cores = parse_core_count(sections.get("possible", ""), sections.get("cpuinfo", ""))
    abis = _abis(props.get("ro.product.cpu.abilist") or props.get("ro.product.cpu.abi", ""))
    virtual = props.get("ro.orch.virtual") == "1"
    confinement = props.get("ro.orch.confinement", "") if virtual else ""
    root_shell = re.match(r"\s*uid=0\b", sections.get("id", "")) is not None  # unconfined: the host's user
    tools = tuple(tool for tool in sections.get("tools", "").split() if tool in TOOLS)
    executes = abis if props else _linux_abis(sections.get("machine", ""))
    return PhoneFacts(
        identity=props.get("ro.serialno") or serial,
        device_model=props.get("ro.product.model", ""),
        manufacturer=props.get("ro.product.manufacturer", ""),
        fingerprint=props.get("ro.build.fingerprint", ""),
        soc=_soc(props, sections.get("cpuinfo", "")),
        api_level=_number(props.get("ro.build.version.sdk", "")),
        abis=abis,
        exec_abis=_abis(props.get("ro.orch.exec_abis", "")) if virtual else executes,
        cores=cores,
        max_freq_khz=parse_max_frequencies(sections.get("clocks", ""), cores),
        memory_bytes=parse_memory_bytes(sections.get("meminfo", "")),
        rooted=("su" in tools and not _is_toybox(sections.get("su", "")))
        or (root_shell and confinement != "unconfined"),
        virtual=virtual,
        confinement=confinement,
        shell=_shell(sections.get("shell", "")),
        tools=tools,
        launcher=props.get("ro.orch.launcher", "") if virtual else "",
        profile=props.get("ro.orch.profile", "") if virtual else "",
        free_bytes=parse_free_bytes(sections.get("df", "")),
        scenario=props.get("ro.orch.scenario", "") if virtual else "",
        page_bytes=_page_bytes(sections.get("page", "")),
    )


def _rooted(path: str) -> str:
    return quoted(PhonePath(path))


def _abis(text: str) -> tuple[str, ...]:
    return tuple(part for part in text.split(",")[:16] if _ABI.fullmatch(part))


def _linux_abis(machine: str) -> tuple[str, ...]:
    """What a target executes that is no Android (it has no property at all): programs for its Linux kernel."""
    known = _LINUX_MACHINES.get(machine.strip())
    return () if known is None else (known,)


def _is_toybox(su: str) -> bool:
    """Whether `su` is toybox's own: without its setuid bit, as it always comes, it makes nobody root."""
    return su.strip().rpartition("/")[2].startswith("toybox")


def _number(text: str) -> int:
    return int(text) if re.fullmatch(r"\d{1,6}", text) else 0


def _page_bytes(answer: str) -> int:
    """A memory page's size as a kernel can have it, else 0."""
    size = _number(answer.strip())
    return size if 4096 <= size <= 65536 and not size & (size - 1) else 0


def _soc(props: Mapping[str, str], cpuinfo: str) -> str:
    """The chip as Android 12 names it, else the board, else cpuinfo's Hardware line."""
    named = cleaned(f"{props.get('ro.soc.manufacturer', '')} {props.get('ro.soc.model', '')}")
    hardware = re.search(r"^Hardware\s*:\s*(.+)$", cpuinfo, re.M)
    known = [
        named,
        props.get("ro.board.platform", ""),
        cleaned(hardware[1]) if hardware else "",
        props.get("ro.hardware", ""),
    ]
    return next((name for name in known if name), "")


def _shell(text: str) -> str:
    """The shell and its tools in a few words, from `$KSH_VERSION`, `toybox --version` and the shell's own file."""
    text = text[: 4 * MAX_TEXT]
    version = re.search(r"(?:MIRBSD KSH|PD KSH|KSH).*?(R\d{1,4}|\d[\w.]*)", text)
    toybox = re.search(r"^toybox (\S{1,30})", text, re.M)
    program = re.search(r"/([A-Za-z0-9._+-]{1,40})\s*$", text)
    name = f"mksh {version[1]}" if version else (program[1] if program else "sh")
    return cleaned(f"{name}, toybox {toybox[1]}" if toybox else name)
