"""One virtual phone inside its daemon: power on, connections, services, reboot, power off."""

from __future__ import annotations

import asyncio
import os
import time
import uuid
from collections.abc import Coroutine
from pathlib import Path

from android_runner.virtual.child import Spawn
from android_runner.virtual.confinement import Namespace, NoNamespaces, make_namespace
from android_runner.virtual.fault_body import PhoneBody
from android_runner.virtual.fault_life import FaultLife
from android_runner.virtual.faults import FaultPlan
from android_runner.virtual.heat.life import life_of
from android_runner.virtual.host_tools import HostTools, exec_abi, system_tool
from android_runner.virtual.identity import Standing, banner, shell_env
from android_runner.virtual.link import Link
from android_runner.virtual.phone_fs import PhoneFs
from android_runner.virtual.processes import identify, kill_with_environment, with_environment
from android_runner.virtual.root_tree import REBOOT_REQUEST, RootTree
from android_runner.virtual.session import Session
from android_runner.virtual.shell_packets import parse_request
from android_runner.virtual.shell_service import ShellService
from android_runner.virtual.slots import launcher_path
from android_runner.virtual.spec import PhoneSpec
from android_runner.virtual.state import PhoneRecord, Places, read_phone, root_mark, write_record
from android_runner.virtual.stream import Stream, StreamClosed
from android_runner.virtual.sync_service import SyncService

_BOOT_S = 0.3
_ANSWER_S = 0.05
"""How long a service's last answer may take to leave before the transport goes down."""


class Phone:
    """One phone; it belongs to the event loop that starts it."""

    def __init__(self, places: Places, spec: PhoneSpec, tools: HostTools) -> None:
        self.spec = spec
        self.links: set[Link] = set()
        self.dir = places.phone(spec.serialno)
        self._places = places
        self._tools = tools
        self._mark = root_mark(self.dir)
        self._tree = RootTree(self.dir, spec.profile, tools, hot=spec.scenario is not None)
        self._life = life_of(self.dir, spec.profile, spec.scenario, spec.own_seed)
        self._fs = PhoneFs(self.dir / "root", storage_bytes=spec.profile.storage_bytes)
        self._body = PhoneBody(places, self)
        self._faults = FaultLife(self.dir, self._body)
        self._namespace: Namespace | None = None
        self._reason = "" if spec.confine else "asked for"
        self._server: asyncio.Server | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._port = 0
        self._boot_id = ""
        self._rebooting = False

    # --- power ---------------------------------------------------------------------------------------------------

    async def power_on(self) -> None:
        """Build the root, make namespaces where the host lets us, listen."""
        kill_with_environment(self._mark)  # what an earlier life of an unconfined phone has left
        confined = self.spec.confine
        if confined:
            try:
                self._build(confined=True)
                self._new_boot()
                self._namespace = await self._make_namespace()
            except NoNamespaces as error:
                self._reason, confined = str(error), False
        if not confined:
            self._build(confined=False)
            self._new_boot()
        await self._listen()
        self._write_record()

    async def power_off(self) -> None:
        """End every process of the phone and every connection."""
        self._close_server()
        await self._end_processes()
        self._life.close()
        for link in list(self.links):
            link.drop()
        tasks = [task for task in self._tasks if task is not asyncio.current_task()]
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks, timeout=5.0)

    def record_off(self) -> None:
        """Say in the phone's folder that it is off."""
        self._write_record(off=True)

    async def reboot(self, down_s: float = 0.0) -> None:
        """Streams die, processes end, a new boot id; it listens again on its old port, `down_s` later than it could."""
        if self._rebooting:
            return
        self._rebooting = True
        try:
            await self.power_off()
            self._fs.superuser = False
            self._new_boot()
            await asyncio.sleep(_BOOT_S + down_s)
            if self.confinement == "namespace":
                self._namespace = await self._make_namespace()
            await self._listen()
            self._write_record()
        finally:
            self._rebooting = False
        if self._faults.scheduled:
            self._body.plug_in()

    @property
    def confinement(self) -> str:
        """`namespace` or `unconfined`."""
        return "unconfined" if self._reason else "namespace"

    @property
    def port(self) -> int:
        """Where it listens on the loopback."""
        return self._port

    @property
    def listens(self) -> bool:
        """Whether it takes connections now."""
        return self._server is not None

    @property
    def mark(self) -> str:
        """What its processes have in their environment where it is not confined; empty where it is."""
        return "" if self._namespace is not None else self._mark

    def busy(self) -> bool:
        """Whether a stream is open or something started here still runs."""
        if self._rebooting or any(link.busy for link in self.links):
            return True
        if self._namespace is not None:
            return self._namespace.has_processes()
        return next(iter(with_environment(self._mark)), None) is not None

    async def look_around(self) -> None:
        """Let time go by for its heat; do what files ask for: a reboot from inside, a cable pulled."""
        if not self._rebooting:
            self._life.tick(time.monotonic(), *self._processes())
            await self._faults.pass_time()
        if (self._fs.root / REBOOT_REQUEST).exists() and not self._rebooting:
            await self.reboot()
        if self._faults.look().unplugged:
            self._close_server()
            self._body.drop_links()
        elif self._server is None and not self._rebooting:
            await self._listen()

    def _build(self, *, confined: bool) -> None:
        spec = self.spec
        standing = Standing(
            serialno=spec.serialno,
            exec_abi=exec_abi(),
            confinement="namespace" if confined else "unconfined",
            shell=self._tools.shell_name,
            launcher=launcher_path(self._fs.root, confined=confined) if spec.slots_matter else "",
            scenario=spec.scenario_words,
        )
        self._tree.build(standing, self._places.slots)

    def _new_boot(self) -> None:
        self._boot_id = str(uuid.uuid4())
        self._tree.boot(self._boot_id)
        self._life.boot(time.monotonic())

    async def _make_namespace(self) -> Namespace:
        preparing = self._tools.preparing
        lent = preparing.mounts() if preparing is not None else ()
        rooted, overlays = self.spec.profile.rooted, self._tree.overlays
        return await make_namespace(self.dir, self._places.slots, lent, rooted=rooted, overlays=overlays)

    async def _end_processes(self) -> None:
        if self._namespace is not None:
            await self._namespace.end()
            self._namespace = None
        elif self._reason:
            await asyncio.to_thread(kill_with_environment, self._mark)

    def _processes(self) -> tuple[Path, str]:
        """A `/proc` that lists the phone's processes, and what tells them from others there."""
        inside = self._namespace
        return (Path("/proc"), self._mark) if inside is None else (Path(f"/proc/{inside.init_pid}/root/proc"), "")

    async def _listen(self) -> None:
        loop = asyncio.get_running_loop()
        before = read_phone(self.dir)
        wanted = self._port or (before.port if before is not None else 0)
        try:
            self._server = await loop.create_server(self._new_link, "127.0.0.1", wanted, reuse_address=True)
        except OSError:
            self._server = await loop.create_server(self._new_link, "127.0.0.1", 0)
        self._port = self._server.sockets[0].getsockname()[1]

    def _close_server(self) -> None:
        if self._server is not None:
            self._server.close()
            self._server = None

    def _new_link(self) -> Link:
        link = Link(self, self._places.key_file, self._lost)
        self.links.add(link)
        return link

    def _lost(self, link: Link) -> None:
        self.links.discard(link)
        if self._faults.scheduled and self.listens:
            self._body.plug_in()

    def _write_record(self, *, off: bool = False) -> None:
        own = None if off else identify(os.getpid())
        record = PhoneRecord(
            serialno=self.spec.serialno,
            profile=self.spec.profile.name,
            scenario=self.spec.scenario_words,
            port=self._port,
            pid=own.pid if own is not None else 0,
            start_ticks=own.start_ticks if own is not None else 0,
            confinement=self.confinement,
            confinement_reason=self._reason,
            shell=self._tools.shell_name,
            boot_id=self._boot_id,
        )
        write_record(self.dir / "state.json", record)

    # --- what a link asks ------------------------------------------------------------------------------------------

    def banner_properties(self) -> str:
        """For the CNXN."""
        return banner(self.spec.profile)

    def connecting(self) -> FaultPlan:
        """A host says CNXN: what goes wrong with that."""
        return self._faults.connecting()

    def start_service(self, name: str, stream: Stream, link: Link) -> bool:
        """Start what the host has opened; False where there is no such service."""
        self._faults.look()
        session = Session(stream, self._faults, self._faults.meter, link)
        work = self._service(name, session)
        if work is None:
            return False
        stream.accept()
        task = asyncio.get_running_loop().create_task(self._serve(work, stream, link))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return True

    def _service(self, name: str, session: Session) -> Coroutine[None, None, None] | None:
        request = parse_request(name)
        if request is not None:
            return ShellService(session, request, self.spawn()).run()
        if name == "sync:":
            return SyncService(session, self._fs).run()
        if name.startswith("reboot:"):
            return self._reboot_service()
        if name == "root:":
            return self._root_service(session)
        return None

    async def _serve(self, work: Coroutine[None, None, None], stream: Stream, link: Link) -> None:
        try:
            await work
        except (StreamClosed, OSError):
            pass
        finally:
            link.forget(stream)

    def spawn(self) -> Spawn:
        """How its shell is started."""
        setsid = system_tool("setsid")
        pty_prefix = (setsid, "--ctty") if setsid else ()
        if self._namespace is not None:
            superuser = ["/usr/bin/unshare", "-r"] if self._fs.superuser else []
            argv = [*self._namespace.enter_argv(), *superuser, "/system/bin/sh"]
            return Spawn(argv, shell_env(self.spec.profile, None), "/", nested=True, pty_prefix=pty_prefix)
        root = str(self._fs.root)
        env = shell_env(self.spec.profile, root)
        return Spawn([f"{root}/system/bin/sh"], env, root, nested=False, pty_prefix=pty_prefix)

    async def _reboot_service(self) -> None:
        self._body.restart(0.0, after_s=_ANSWER_S)

    async def _root_service(self, session: Session) -> None:
        if not self.spec.profile.rooted:
            await session.stream.send(b"adbd cannot run as root in production builds\n")
            return
        if self._fs.superuser:
            await session.stream.send(b"adbd is already running as root\n")
            return
        self._fs.superuser = True
        await session.stream.send(b"restarting adbd as root\n")
        asyncio.get_running_loop().call_later(_ANSWER_S, session.drop_transport)
