"""Pure: what a virtual phone says of itself, as properties and as the files of /proc and /sys, from its profile.

Paths are relative to the phone's root. Formats are those of Android kernels: cpufreq in kHz, thermal zones in
thousandths of a degree, the battery's `temp` in tenths, its `voltage_now` in µV.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from android_runner.profile import Cluster, DeviceProfile

BATTERY = "sys/class/power_supply/battery"
_CPU = "sys/devices/system/cpu"
THERMAL = "sys/class/thermal"
THERMAL_STATUS = "dev/orch/thermal_status"
BOOT_ID = "proc/sys/kernel/random/boot_id"
_CHARGE_UA = 300_000
"""What flows into the battery of a phone that rests at a computer's port: 500 mA less what the phone needs."""
WAKEFULNESS = "dev/orch/wakefulness"
DOZE = ("dev/orch/doze_deep", "dev/orch/doze_light")
FACTORY_SETTINGS: Mapping[str, Mapping[str, str]] = {
    "global": {
        "adb_enabled": "1",
        "airplane_mode_on": "0",
        "development_settings_enabled": "1",
        "device_provisioned": "1",
        "low_power": "0",
        "stay_on_while_plugged_in": "0",
        "wifi_on": "1",
    },
    "system": {
        "accelerometer_rotation": "1",
        "screen_brightness": "102",
        "screen_brightness_mode": "1",
        "screen_off_timeout": "60000",
    },
    "secure": {},
}
"""Settings by namespace, as a phone with USB debugging on has them; from AOSP's SettingsProvider `defaults.xml`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """How a phone stands on this host. `launcher` is what its shell can call, or empty where no slot is needed."""

    serialno: str
    exec_abi: str
    confinement: str
    shell: str
    launcher: str
    scenario: str = ""


def properties(profile: DeviceProfile, standing: Standing) -> dict[str, str]:
    """`getprop`'s content; what a profile gives itself comes last and wins."""
    product = profile.product
    return {
        "ro.serialno": standing.serialno,
        "ro.boot.serialno": standing.serialno,
        "ro.product.model": profile.device_model,
        "ro.product.manufacturer": profile.manufacturer,
        "ro.product.brand": profile.brand,
        "ro.product.name": product,
        "ro.product.device": product,
        "ro.build.product": product,
        "ro.build.fingerprint": profile.fingerprint,
        "ro.build.version.sdk": str(profile.api_level),
        "ro.build.version.release": profile.android_release,
        "ro.build.type": "userdebug" if profile.rooted else "user",
        "ro.build.characteristics": "default",
        "ro.debuggable": "1" if profile.rooted else "0",
        "ro.secure": "1",
        "ro.product.cpu.abi": profile.abis[0],
        "ro.product.cpu.abilist": ",".join(profile.abis),
        "ro.product.cpu.abilist64": ",".join(abi for abi in profile.abis if "64" in abi),
        "ro.product.cpu.abilist32": ",".join(abi for abi in profile.abis if "64" not in abi),
        "ro.soc.model": profile.soc,
        "ro.board.platform": profile.soc,
        "ro.hardware": product,
        "ro.boot.selinux": profile.selinux.lower(),
        "ro.orch.virtual": "1",
        "ro.orch.profile": profile.name,
        "ro.orch.confinement": standing.confinement,
        "ro.orch.exec_abis": standing.exec_abi,
        "ro.orch.launcher": standing.launcher,
        "ro.orch.shell": standing.shell,
        **({"ro.orch.scenario": standing.scenario} if standing.scenario else {}),
        "ro.orch.nnapi_devices": ",".join(
            f"{device.name}:{device.kind}:{device.feature_level}" for device in profile.nnapi_devices
        ),
        "sys.boot_completed": "1",
        "dev.bootcomplete": "1",
        "init.svc.adbd": "running",
        **profile.properties,
    }


def banner(profile: DeviceProfile) -> str:
    """The properties that adbd names in its CNXN."""
    product = _plain(profile.product)
    return f"ro.product.name={product};ro.product.model={_plain(profile.device_model)};ro.product.device={product}"


def shell_env(profile: DeviceProfile, host_root: str | None) -> dict[str, str]:
    """What a shell finds in its environment; `host_root` is the phone's root on the host, None in a namespace."""
    root = host_root or ""
    env = {
        "PATH": ":".join(f"{root}{folder}" for folder in ("/system/bin", "/system/xbin", "/vendor/bin")),
        "HOME": root or "/",
        "TMPDIR": f"{root}/data/local/tmp",
        "SHELL": f"{root}/system/bin/sh",
        "USER": "shell",
        "LOGNAME": "shell",
        "HOSTNAME": profile.product,
        "ANDROID_ROOT": "/system",
        "ANDROID_DATA": "/data",
        "EXTERNAL_STORAGE": "/sdcard",
        # The stand-in for perf_test runs the host's onnxruntime, whose newer builds report home unless told not to.
        "ORT_DISABLE_TELEMETRY": "1",
    }
    return env if host_root is None else {**env, "ORCH_ROOT": host_root}


def _plain(text: str) -> str:
    return "".join(letter if letter.isalnum() or letter in " ._-" else "_" for letter in text)


def state_files(profile: DeviceProfile, boot_id: str) -> dict[str, str]:
    """Every file of /proc and /sys that the profile stands for, as after a boot."""
    return {
        **_proc(profile, boot_id),
        **dict(_cpus(profile)),
        **_battery(profile),
        **dict(_zones(profile.zones_c)),
        "sys/fs/selinux/enforce": "1" if profile.selinux == "Enforcing" else "0",
        THERMAL_STATUS: f"{profile.thermal_status}\n",
        WAKEFULNESS: "Awake\n",
        **dict.fromkeys(DOZE, "1\n"),
    }


def state_links(profile: DeviceProfile) -> dict[str, str]:
    """Links of /sys and their targets: each core's `cpufreq` is its policy."""
    links: dict[str, str] = {}
    first = 0
    for cluster in profile.clusters:
        for core in range(first, first + cluster.count):
            links[f"{_CPU}/cpu{core}/cpufreq"] = f"../cpufreq/policy{first}"
        first += cluster.count
    return links


def zone_temperature(temp_c: float) -> str:
    """A thermal zone's `temp`."""
    return f"{round(temp_c * 1000)}\n"


def battery_temperature(temp_c: float) -> str:
    """The battery's `temp`."""
    return f"{round(temp_c * 10)}\n"


def _proc(profile: DeviceProfile, boot_id: str) -> dict[str, str]:
    cores = "\n".join(
        f"processor\t: {core}\nBogoMIPS\t: 49.15\nFeatures\t: {profile.cpu_features}\n"
        f"CPU implementer\t: 0x41\nCPU architecture: 8\n"
        for core in range(profile.cores)
    )
    kib = profile.memory_bytes // 1024
    memory = {"MemTotal": kib, "MemFree": kib // 4, "MemAvailable": kib * 3 // 5, "SwapTotal": 0, "SwapFree": 0}
    return {
        "proc/cpuinfo": f"{cores}\nHardware\t: {profile.soc}\n",
        "proc/meminfo": "".join(f"{name + ':':<16}{value:>8} kB\n" for name, value in memory.items()),
        BOOT_ID: f"{boot_id}\n",
    }


def _cpus(profile: DeviceProfile) -> Iterator[tuple[str, str]]:
    span = _span(0, profile.cores)
    for name in ("possible", "present", "online"):
        yield f"{_CPU}/{name}", f"{span}\n"
    first = 0
    for folder, cluster in policies(profile):
        for name, text in _policy(cluster, first):
            yield f"{folder}/{name}", text
        for core in range(first, first + cluster.count):
            yield f"{_CPU}/cpu{core}/online", "1\n"
        first += cluster.count


def policies(profile: DeviceProfile) -> Iterator[tuple[str, Cluster]]:
    """The folder of each cpufreq policy, and its cores."""
    first = 0
    for cluster in profile.clusters:
        yield f"{_CPU}/cpufreq/policy{first}", cluster
        first += cluster.count


def clocks_khz(cluster: Cluster) -> tuple[int, ...]:
    """The clocks of a cluster, rising: five, evenly spread, as what its kernel lists is public for few."""
    return tuple(cluster.min_khz + (cluster.max_khz - cluster.min_khz) * index // 4 for index in range(5))


def _policy(cluster: Cluster, first: int) -> Iterator[tuple[str, str]]:
    cores = " ".join(str(core) for core in range(first, first + cluster.count))
    yield "cpuinfo_min_freq", f"{cluster.min_khz}\n"
    yield "cpuinfo_max_freq", f"{cluster.max_khz}\n"
    yield "scaling_min_freq", f"{cluster.min_khz}\n"
    yield "scaling_max_freq", f"{cluster.max_khz}\n"
    yield "scaling_cur_freq", f"{cluster.max_khz}\n"
    yield "scaling_available_frequencies", " ".join(map(str, clocks_khz(cluster))) + " \n"
    yield "scaling_governor", "schedutil\n"
    yield "related_cpus", f"{cores}\n"
    yield "affected_cpus", f"{cores}\n"


def _span(first: int, count: int) -> str:
    return str(first) if count == 1 else f"{first}-{first + count - 1}"


def _battery(profile: DeviceProfile) -> dict[str, str]:
    battery = profile.battery
    return {
        f"{BATTERY}/capacity": f"{battery.level}\n",
        f"{BATTERY}/temp": battery_temperature(battery.temp_c),
        f"{BATTERY}/health": f"{battery.health}\n",
        f"{BATTERY}/status": f"{battery.status}\n",
        f"{BATTERY}/current_now": f"{_CHARGE_UA}\n",
        f"{BATTERY}/voltage_now": f"{battery.voltage_mv * 1000}\n",
        f"{BATTERY}/technology": f"{battery.technology}\n",
        f"{BATTERY}/present": "1\n",
        f"{BATTERY}/type": "Battery\n",
        "sys/class/power_supply/usb/online": "1\n",
    }


def _zones(zones_c: Mapping[str, float]) -> Iterator[tuple[str, str]]:
    for index, (name, temp_c) in enumerate(zones_c.items()):
        yield f"{THERMAL}/thermal_zone{index}/type", f"{name}\n"
        yield f"{THERMAL}/thermal_zone{index}/temp", zone_temperature(temp_c)
