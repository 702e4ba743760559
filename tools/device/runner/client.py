"""The driver's side of an evaluation process: starts it, feeds it, checks what it left behind, ends it."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import secrets
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, Literal, Self

from ....benchmark.contract import Argument, DType, Precision, Role
from ....benchmark.parallel import in_pieces
from ....benchmark.task import Case, Task
from ..port import CallResult, Unsupported
from .host_program import build_glue
from .isolation import Isolation, announce_senders, hidden_folders, sender
from .shared_inputs import SharedInputs, shared

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_COMPARED_HERE: Final = 1 << 20
"""Inputs up to this many bytes come back and are compared here; larger ones are compared by the host program."""
_BEYOND_STREAM_US: Final = 50.0
"""A device-wide synchronize after the stream's own takes a few microseconds if nothing else runs."""
_CALLS_THAT_LEAK: Final = 3
_QUIET_LOOKS: Final = 10
_QUIET_S: Final = 0.2
"""A process that starts on the GPU takes memory in many small steps, about so long."""
_KILL_S: Final = 10.0
_NUMPY_NAMES: Final = {DType.F32: "float32", DType.BF16: "uint16", DType.I32: "int32"}


class RunnerFault(RuntimeError):
    """The machine or the host program failed, not the candidate. The message says what to look at."""


@dataclass(frozen=True)
class Limits:
    """What an evaluation process may use."""

    start_s: float = 60.0
    """Until the library is loaded; a GPU context takes a second or two."""
    call_s: float = 20.0
    """One call of the entry function and bringing its results back."""
    cpu_s: int = 900
    """Processor time of the whole process: the last line of defence if the driver dies."""
    memory_bytes: int | None = None
    """Address space. None on a GPU, whose driver reserves terabytes of it."""
    data_bytes: int = 16 << 30
    """Memory of the host that it may fill itself: on a GPU too the driver's reservations don't count."""
    file_bytes: int = 16 << 20
    """Largest file that it may write: its log."""
    workspace_bytes: int = 4 << 30
    """Largest workspace that a candidate may ask for."""


@dataclass(frozen=True)
class TimedCalls:
    """What `RunnerProcess.time` measured, per call, microseconds. Claims: the candidate shares the process."""

    device_us: tuple[float, ...]
    wall_us: tuple[float, ...]
    queue_us: float
    """Host time to queue one call."""
    calls: int
    """Calls made in all: to warm up, for the device's clock, for the host's."""
    block_wall_s: float
    """Seconds that the whole block took by the driver's clock: the claims must fit into it."""
    damage: tuple[str, ...] = ()
    """What the calls left behind, one sentence each."""


@dataclass(frozen=True)
class _Buffer:
    argument: Argument
    bytes: int
    shape: tuple[int, ...]
    before: NDArray[Any] | None


_PREFIX: Final = "cudamaster-"


def remove_left_folders(shared: Path) -> None:
    """Remove the folders of runners whose driver was killed: nobody holds the lock on what they brought back."""
    for folder in shared.glob(f"{_PREFIX}*"):
        with contextlib.suppress(OSError):
            if time.time() - folder.stat().st_mtime < 60:
                continue  # it may not be locked yet
            kept = os.open(folder / "outputs.bin", os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW)  # it may be anything
            try:
                fcntl.flock(kept, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(folder, ignore_errors=True)
            finally:
                os.close(kept)


def _run_folder() -> Path:
    """Make a private folder for bulk data, in memory where there is room."""
    shared = Path("/dev/shm")
    with contextlib.suppress(OSError):
        remove_left_folders(shared)
        room = os.statvfs(shared)
        if os.access(shared, os.W_OK) and room.f_bavail * room.f_frsize > 2 << 30:
            return Path(tempfile.mkdtemp(prefix=_PREFIX, dir=shared))
    return Path(tempfile.mkdtemp(prefix=_PREFIX))


class RunnerProcess:
    """One process with one library loaded (implements `port.Runner`).

    `wrapper` is a tool to run it under, such as Nsight Compute or compute-sanitizer: then descriptors, children and
    sockets stay allowed. `guard_bytes=0` drops the guard bands, so that a tool sees each buffer's true end.
    """

    def __init__(
        self,
        executable: Path,
        library: Path,
        task: Task,
        precision: Precision,
        *,
        limits: Limits | None = None,
        environment: Mapping[str, str] | None = None,
        guard_bytes: int = 4096,
        wrapper: Sequence[str] = (),
        builds: Path | None = None,
        hold: Callable[[], contextlib.AbstractContextManager[None]] = contextlib.nullcontext,
    ) -> None:
        self.hold = hold
        self.task, self.precision, self.limits = task, precision, limits or Limits()
        self.reply: dict[str, Any] = {}
        """The host program's last answer in full, e.g. `beyond_stream_us`: time after the stream was done."""
        self._dead: CallResult | None = None
        self._buffers: list[_Buffer] = []
        self._inputs: SharedInputs | None = None
        self._workspace_bytes = 0
        self._inputs_kept = False
        """True once timed calls of the case can have their inputs back."""
        self._leaks = 0
        """Calls in a row that kept device memory."""
        self._threads = 0
        """Threads of the process before the first call."""
        self._pending = b""
        self.isolation = Isolation()
        """Which walls stand around the process."""
        self._runner: int | None = None
        """Handle of the process with the library, where that isn't the one started here but its grandchild."""
        glue = build_glue(task.contract, builds)
        self._guard = secrets.token_bytes(guard_bytes)
        self.folder = _run_folder()
        (self.folder / "guard.bin").write_bytes(self._guard)
        self._outputs = (self.folder / "outputs.bin").open("w+b", buffering=0)
        """What calls left behind, sized here: it only grows, since its pages cost more than what is written to them."""
        fcntl.flock(self._outputs, fcntl.LOCK_EX)
        self._log = self.folder / "stdout", self.folder / "stderr"
        ours, theirs = socket.socketpair()
        announce_senders(ours)
        self._socket, listener, channel = ours, None, str(theirs.fileno())
        if wrapper:  # a tool may not pass descriptors on to what it starts
            channel = str(self.folder / "socket")
            listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            listener.bind(channel)
            listener.listen(1)
        command = [*wrapper, str(executable), channel, str(self.folder), str(glue), str(library.absolute())]
        command += [task.contract.entry, f"cpu_s={self.limits.cpu_s}", f"file_bytes={self.limits.file_bytes}"]
        command += [f"memory_bytes={self.limits.memory_bytes or 0}", f"data_bytes={self.limits.data_bytes}"]
        command += [f"trusted_tool={int(bool(wrapper))}"]
        command += [f"hide={path}" for path in hidden_folders()]
        scrubbed = {"PATH": "/usr/bin:/bin", "LC_ALL": "C", "HOME": str(self.folder), "TMPDIR": str(self.folder)}
        try:
            with self._log[0].open("wb") as out, self._log[1].open("wb") as err:
                self._process = subprocess.Popen(
                    command, stdin=subprocess.DEVNULL, stdout=out, stderr=err, cwd=self.folder, start_new_session=True,
                    pass_fds=[theirs.fileno()], env={**scrubbed, **(environment or {})},
                )  # fmt: skip
        except OSError:
            ours.close()
            shutil.rmtree(self.folder, ignore_errors=True)
            raise
        finally:
            theirs.close()
        try:
            if listener is not None:
                self._accept(listener)
            self._start()
        except BaseException:
            self.close()
            raise

    def _accept(self, listener: socket.socket) -> None:
        """Wait for the host program that a tool starts."""
        deadline = time.monotonic() + self.limits.start_s
        listener.settimeout(0.2)
        with listener:
            while self._process.poll() is None and time.monotonic() < deadline:
                with contextlib.suppress(TimeoutError):
                    connection, _ = listener.accept()
                    self._socket.close()
                    self._socket = connection
                    return
        raise RunnerFault(f"the tool did not start the host program: {self._obituary()}")

    def _start(self) -> None:
        self.pid = self._process.pid
        """The process id of the host program, as seen from here."""
        if (found := sender(self._socket, self.limits.start_s)) and found != self.pid:
            self.pid = found
            with contextlib.suppress(OSError):
                self._runner = os.pidfd_open(found)
        ready = self._line(self.limits.start_s)
        if ready != b"ready":
            # Foreign code is not loaded yet: this is the machine's fault.
            reason = self._dead.message if self._dead else ready.decode(errors="replace") if ready else ""
            with contextlib.suppress(ValueError):
                reason = str(json.loads(ready or b"")["fatal"])
            raise RunnerFault(f"the host program did not start: {reason}")
        loaded = self._line(self.limits.start_s)
        (self.folder / "guard.bin").unlink()
        if loaded is None:
            return
        self._nonce = secrets.token_hex(16).encode()
        reply = self._ask(self._nonce.decode(), self.limits.start_s)
        if reply is not None and "load_error" in reply:
            self._dead = CallResult("launch_error", f"the library cannot be loaded: {reply['load_error']}")
        self.isolation = Isolation.read(reply or {})

    # --- the protocol ------------------------------------------------------------------------------------------------

    def _line(self, timeout_s: float) -> bytes | None:
        """Return the next line, or None after recording why there is none."""
        deadline = time.monotonic() + timeout_s
        while b"\n" not in self._pending:
            left = deadline - time.monotonic()
            if left <= 0:
                self._kill()
                self._dead = CallResult("timeout", f"no answer within {timeout_s:g} s{self._tail()}")
                return None
            self._socket.settimeout(left)
            try:
                data = self._socket.recv(1 << 16)
            except TimeoutError:
                continue
            except OSError:
                data = b""
            if not data:
                self._dead = CallResult("crash", self._obituary())
                return None
            self._pending += data
        line, _, self._pending = self._pending.partition(b"\n")
        return line

    def _answer(self, timeout_s: float) -> dict[str, Any] | None:
        line = self._line(timeout_s)
        if line is None:
            return None
        nonce, _, text = line.partition(b" ")
        if not secrets.compare_digest(nonce, self._nonce):
            self._kill()
            self._dead = CallResult("crash", "an answer without the right nonce came: the channel was tampered with")
            return None
        reply: dict[str, Any] = json.loads(text)
        self.reply = reply
        if "fatal" in reply:
            self._kill()
            raise RunnerFault(f"the host program gave up: {reply['fatal']}")
        return reply

    def _ask(self, command: str, timeout_s: float, fd: int | None = None) -> dict[str, Any] | None:
        line = command.encode() + b"\n"
        try:
            self._socket.settimeout(timeout_s)
            sent = socket.send_fds(self._socket, [line], [fd]) if fd is not None else 0
            self._socket.sendall(line[sent:])
        except OSError:
            self._dead = CallResult("crash", self._obituary())
            return None
        return self._answer(timeout_s)

    def _obituary(self) -> str:
        """Say how the process ended."""
        try:
            code = self._process.wait(timeout=5)
        except subprocess.TimeoutExpired:
            self._kill()
            return f"the process closed its channel without ending{self._tail()}"
        self._kill()
        if code < 0:
            with contextlib.suppress(ValueError):
                return f"the process was ended by {signal.Signals(-code).name}{self._tail()}"
        return f"the process ended by itself with exit code {code}{self._tail()}"

    def _tail(self) -> str:
        text = self.log()[-2000:].strip()
        return f"; its last output:\n{text}" if text else ""

    def log(self) -> str:
        """Return what the process wrote to stderr and stdout so far (the last 64 KiB of each)."""
        texts = []
        for path in reversed(self._log):
            with contextlib.suppress(OSError), path.open("rb") as file:
                file.seek(max(0, path.stat().st_size - (1 << 16)))
                texts.append(file.read().decode(errors="replace"))
        return "".join(texts)

    def _kill(self) -> None:
        """End the whole group and wait for it."""
        if self._runner is not None:
            # Its namespace ends with it, and then the process that was started here: nothing is left when that is gone.
            with contextlib.suppress(ProcessLookupError):
                signal.pidfd_send_signal(self._runner, signal.SIGKILL)
            os.close(self._runner)
            self._runner = None
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(_KILL_S)
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()

    # --- port.Runner -------------------------------------------------------------------------------------------------

    @property
    def dead(self) -> CallResult | None:
        """Why the process is of no use any more, or None."""
        return self._dead

    def load_case(self, case: Case, arrays: Mapping[str, NDArray[Any]], *, new_pointers: bool = True) -> None:
        """Put a case's arrays (storage type) on the device. `new_pointers=False` reuses the buffers of the last case.

        A candidate that fails here (in its `_workspace_bytes`) fails the following `call`.

        Raises:
            Unsupported: the device has too little memory for the case.
            RunnerFault: the machine or the host program failed.
            ValueError: an array has another type or size than the contract says.
        """
        import numpy as np

        if self._dead is not None:
            return
        inputs = shared(arrays)
        tokens, buffers = [], []
        for argument in self.task.contract.arguments:
            if argument.role is Role.SIZE:
                tokens.append(f"int:{case.sizes[argument.name]}")
            elif argument.role is Role.SCALAR:
                value = case.scalars[argument.name]
                tokens.append(f"int:{int(value)}" if argument.dtype is DType.I32 else f"float:{float(value).hex()}")
            elif argument.name in case.null:
                tokens.append("null")
            else:
                count = self.task.contract.bytes_of(argument, self.precision, case.sizes)
                before, offset = None, 0
                if argument.role is not Role.OUT:
                    dtype = np.dtype(_NUMPY_NAMES[argument.dtype.resolve(self.precision)])
                    before, offset = inputs[argument.name], inputs.offsets[argument.name]
                    if before.dtype != dtype or before.nbytes != count:
                        raise ValueError(
                            f"array {argument.name!r} of case {case.name}: {before.dtype} with {before.nbytes} bytes, "
                            f"the contract says {dtype} with {count}"
                        )
                tokens.append(f"{argument.role.value}:{count}:{offset}:{self._turn_bytes(argument)}")
                buffers.append(_Buffer(argument, count, argument.extents(case.sizes), before))
        self._buffers, self._inputs, self._inputs_kept = buffers, inputs, False
        seconds = self.limits.call_s + sum(buffer.bytes for buffer in buffers) / 1e9
        command = f"case {int(not new_pointers)} {self.limits.workspace_bytes} {' '.join(tokens)}"
        reply = self._ask(command, seconds, inputs.fd)
        if reply is None:
            return
        if "no_memory" in reply:
            raise Unsupported(
                f"case {case.name}: the device has no memory for a buffer of {reply['no_memory']:,} bytes"
            )
        self._workspace_bytes = int(reply["workspace_bytes"])
        self._threads = self._threads or int(reply["threads"])
        if not reply["fits"]:
            self._dead = CallResult(
                "launch_error",
                f"{self.task.contract.workspace_entry} asks for {self._workspace_bytes:,} bytes; "
                f"at most {self.limits.workspace_bytes:,} are given, as far as the device has them",
            )

    def _turn_bytes(self, argument: Argument) -> int:
        """Return the step in which timed calls may turn an array's values round; 0 if each has its own place.

        Whole numbers are indices, and what lies beside them belongs to them.
        """
        indices = {a.shape for a in self.task.contract.arrays if a.dtype is DType.I32}
        dtype = argument.dtype.resolve(self.precision)
        return 0 if dtype is DType.I32 or argument.shape in indices else dtype.itemsize

    def call(self, poison: int = 0xFF, positions: Mapping[str, NDArray[np.int64]] | None = None) -> CallResult:
        """Poison outputs and workspace, call the entry once, synchronize, and bring everything back.

        `poison=-1` leaves outputs and workspace uninitialised, for a tool that looks for reads of such memory.
        Of an output named in `positions` only those elements (flat, ascending) come back, as a 1-D array; guard bands
        and unwritten elements are still looked for everywhere.
        """
        if self._dead is not None:
            return self._dead
        plan = self._plan(positions or {})
        # Which elements of an output are looked at is told, and inputs to compare with are sent, when the call is over.
        now = "" if plan.positions or plan.compares else plan.request
        reply = self._ask(f"call {poison} {now}", self.limits.call_s + plan.bytes / 2e8)
        if reply is None:
            assert self._dead is not None
            return self._dead
        if result := self._failure(reply):
            return result
        collected = {} if now else self._collect(plan)
        if collected is None:
            assert self._dead is not None
            return self._dead
        return self._collected({**reply, **collected}, plan, poison)

    def last_outputs(
        self, positions: Mapping[str, NDArray[np.int64]] | None = None, *, outputs_only: bool = False
    ) -> CallResult:
        """Bring back what the last timed call left behind (timed calls poison with 0xFF too).

        `outputs_only`: nothing else is looked at, neither inputs nor guard bands nor elements that are not asked for.
        """
        if self._dead is not None:
            return self._dead
        plan = self._plan(positions or {}, outputs_only)
        reply = self._collect(plan)
        if reply is None:
            assert self._dead is not None
            return self._dead
        return self._collected(reply, plan, 0xFF)

    def _failure(self, reply: Mapping[str, Any]) -> CallResult | None:
        if reply["sync"]:
            self._kill()
            self._dead = CallResult("crash", f"the device failed during the call: {reply['error']}{self._tail()}")
            return self._dead
        if reply["entry"] or reply["last"]:
            where = "the entry returned an error" if reply["entry"] else "a launch failed and the entry did not say so"
            return CallResult("launch_error", f"{where}: {reply['error']}", wall_us=reply["wall_us"])
        return None

    def _plan(self, positions: Mapping[str, NDArray[np.int64]], outputs_only: bool = False) -> _Plan:
        """Decide what comes back and where in outputs.bin it goes."""
        import numpy as np

        fields, at = [], 0
        whole: list[tuple[int, int, tuple[int, ...], int]] = []
        samples: list[NDArray[np.int64]] = []
        for index, buffer in enumerate(self._buffers):
            name, size = buffer.argument.name, buffer.argument.dtype.resolve(self.precision).itemsize
            output = buffer.argument.role is not Role.IN
            if outputs_only and not output:
                continue
            if name in positions and output:
                wanted = np.ascontiguousarray(positions[name], dtype=np.int64)
                offset = sum(s.nbytes for s in samples)
                samples.append(wanted)
                how = "pick" if outputs_only else "sample"
                fields.append(f"{index}:{how}:{at}:{size}:{len(wanted)}:{offset}")
                whole.append((index, at, (len(wanted),), len(wanted) * size))
                at += -(-len(wanted) * size // 256) * 256
            elif output or buffer.bytes <= _COMPARED_HERE:
                fields.append(f"{index}:whole:{at}:{size}")
                whole.append((index, at, buffer.shape, buffer.bytes))
                at += -(-buffer.bytes // 256) * 256
            else:
                fields.append(f"{index}:compare")
        guards = 0 if outputs_only else 2 * len(self._guard) * (len(self._buffers) + 1)
        if (size := at + guards) > os.fstat(self._outputs.fileno()).st_size:
            self._outputs.truncate(size)
        sampled = b"".join(s.tobytes() for s in samples)
        guards_offset = -1 if outputs_only else at
        bytes_in_all = sum(b.bytes for b in self._buffers)
        return _Plan(f"{guards_offset} {' '.join(fields)}", tuple(whole), guards_offset, sampled, bytes_in_all)

    def _collect(self, plan: _Plan) -> dict[str, Any] | None:
        """Have the plan's arrays written to outputs.bin; the positions lie in the folder no longer than that."""
        positions = self.folder / "positions.bin"
        if plan.positions:
            positions.write_bytes(plan.positions)
        try:
            fd = self._inputs.fd if plan.compares and self._inputs else None
            return self._ask(f"collect {plan.request}", self.limits.call_s + plan.bytes / 2e8, fd)
        finally:
            positions.unlink(missing_ok=True)

    def _collected(self, reply: Mapping[str, Any], plan: _Plan, poison: int) -> CallResult:
        import numpy as np

        outputs: dict[str, NDArray[Any]] = {}
        unwritten: dict[str, int] = {}
        damage: list[str] = []
        for index, at, shape, count in plan.whole:
            buffer = self._buffers[index]
            dtype = np.dtype(_NUMPY_NAMES[buffer.argument.dtype.resolve(self.precision)])
            array = self._brought_back(at, count).view(dtype).reshape(shape)
            name = buffer.argument.name
            if buffer.argument.role is Role.IN:
                assert buffer.before is not None
                changed = np.flatnonzero(array.reshape(-1).view(np.uint8) != buffer.before.reshape(-1).view(np.uint8))
                if len(changed):
                    damage.append(f"input {name!r} was changed, first at byte {changed[0]} ({len(changed)} bytes)")
            else:
                outputs[name] = array
        for key, count in reply["unwritten"].items():
            if poison >= 0 and self._buffers[int(key)].argument.role is Role.OUT:
                unwritten[self._buffers[int(key)].argument.name] = count
        damage += [
            f"input {self._buffers[int(key)].argument.name!r} was changed, first at byte {first}"
            for key, first in reply["changed"].items()
        ]
        if plan.guards_offset >= 0:
            damage += [*self._guard_damage(plan.guards_offset), *self._left_behind(reply)]
        if (beyond_us := float(reply.get("beyond_stream_us", 0.0))) > _BEYOND_STREAM_US:
            damage.append(
                f"work went on for {beyond_us:.0f} us after the given stream was done: launch every kernel on `stream`"
            )
        return CallResult(
            "ok", outputs=outputs, unwritten=unwritten, damage=tuple(damage), wall_us=float(reply.get("wall_us", 0.0))
        )

    def _brought_back(self, at: int, count: int) -> NDArray[np.uint8]:
        """Return so many bytes of outputs.bin, in memory of their own."""
        import numpy as np

        array = np.empty(count, np.uint8)

        def read(_: int, piece: slice) -> None:
            done = piece.start
            while done < piece.stop:
                got = os.preadv(self._outputs.fileno(), [array.data[done : piece.stop]], at + done)
                if not got:
                    raise RunnerFault(f"outputs.bin ends at byte {at + done}: who made it shorter?")
                done += got

        in_pieces(count, read)
        return array

    def _memory_is_quiet(self) -> bool:
        """Return whether the device's free memory stays as it is while nothing is called: else others change it."""
        first = self.usage().get("device_free_bytes")
        for _ in range(_QUIET_LOOKS):
            time.sleep(_QUIET_S / _QUIET_LOOKS)
            if self.usage().get("device_free_bytes") != first:
                return False
        return True

    def _left_behind(self, reply: Mapping[str, Any]) -> list[str]:
        found = []
        if (more := int(reply.get("threads", 0)) - self._threads) > 0:
            found.append(f"{more} threads were started and are still there after the call")
        kept = int(reply.get("kept_bytes", 0))
        # The driver may need memory of its own now and then, and so may others on the GPU: they are waited for only
        # once several calls in a row kept some.
        self._leaks = self._leaks + 1 if kept > 0 else 0
        if self._leaks > _CALLS_THAT_LEAK and not self._memory_is_quiet():
            self._leaks = 0
        if self._leaks >= 2 * _CALLS_THAT_LEAK:
            found.append(f"call after call keeps some of device memory, the last one {kept:,} bytes")
        return found

    def _guard_damage(self, at: int) -> list[str]:
        import numpy as np

        size = len(self._guard)
        if not size:
            return []
        named = [(b.argument.name, b.bytes) for b in self._buffers]
        if self._workspace_bytes:
            named.append(("workspace", self._workspace_bytes))
        found = []
        view, at = self._brought_back(at, 2 * size * len(named)), 0
        for index, (name, count) in enumerate(named):
            right = np.frombuffer(self._guard, np.uint8) ^ np.uint8(37 * (index + 1) % 256)
            before, after = view[at : at + size], view[at + size : at + 2 * size]
            at += 2 * size
            if len(wrong := np.flatnonzero(before != right)):
                found.append(f"memory before {name!r} was overwritten: byte {int(wrong[-1]) - size}")
            if len(wrong := np.flatnonzero(after != right)):
                found.append(f"memory after {name!r} was overwritten: byte {count + int(wrong[0])} of {count}")
        return found

    # --- beyond the port ---------------------------------------------------------------------------------------------

    def repeat(self, count: int, poison: int = 0xFF) -> tuple[str, ...] | CallResult:
        """Call `count` times, all poisoned afresh, and return a 64-bit hash of all outputs per call, or the failure."""
        if self._dead is not None:
            return self._dead
        reply = self._ask(f"repeat {count} {poison}", self.limits.call_s * count)
        if reply is None:
            assert self._dead is not None
            return self._dead
        return self._failure(reply) or tuple(reply["hashes"])

    def move(self) -> None:
        """Put the case's arrays at other addresses of the device."""
        if self._dead is None:
            self._ask("move", self.limits.call_s)

    def time(
        self, method: Literal["cold", "warm", "empty"], repetitions: int, walls: int = 1, *, turn: float | None = None
    ) -> TimedCalls | CallResult:
        """Time `repetitions` calls one by one with the device's clock, `walls` with the host's, or return the failure.

        cold: the L2 is evicted before each call; warm: it is not; empty: cold, and a kernel that does nothing instead.
        Cold calls get other data each: the values of each array turned round by a random part of its length, and some
        of them in place of others, so that an answer kept from another call is wrong. `turn` fixes that part for all
        of them; 0 is the case's own data.

        Raises:
            Unsupported: this device has no clock of its own.
        """
        if self._dead is not None:
            return self._dead
        if not self._inputs_kept:
            self._ask("keep", self.limits.call_s)
            self._inputs_kept = True
        start = time.monotonic()
        part = (-1.0 if method == "cold" else 0.0) if turn is None else turn
        seconds = self.limits.call_s + (repetitions + walls) * 1.0
        reply = self._ask(f"time {method} {repetitions} {walls} {part}", seconds)
        if reply is None:
            assert self._dead is not None
            return self._dead
        if "unsupported" in reply:
            raise Unsupported(str(reply["unsupported"]))
        seconds = time.monotonic() - start
        device, wall = tuple(map(float, reply["device_us"])), tuple(map(float, reply["wall_us_each"]))
        return self._failure(reply) or TimedCalls(
            device, wall, float(reply["queue_us"]), int(reply["calls"]), seconds, tuple(self._left_behind(reply))
        )

    def reset_counters(self) -> None:
        """Set the cpu device's counters to zero.

        Raises:
            Unsupported: this device has none.
        """
        reply = None if self._dead else self._ask("counters reset", self.limits.call_s)
        if reply is not None and "unsupported" in reply:
            raise Unsupported(str(reply["unsupported"]))

    def counters(self) -> dict[str, Any]:
        """Return the cpu device's counters since the last reset; empty if the process is dead.

        Raises:
            Unsupported: this device has none.
        """
        reply = None if self._dead else self._ask("counters get", self.limits.call_s)
        if reply is None:
            return {}
        if "unsupported" in reply:
            raise Unsupported(str(reply["unsupported"]))
        counters: dict[str, Any] = json.loads((self.folder / "counters.json").read_bytes())
        return counters

    def usage(self) -> dict[str, int]:
        """Return device and resident memory in bytes, threads and open descriptors; empty if the process is dead."""
        reply = None if self._dead else self._ask("mem", self.limits.call_s)
        return {name: int(value) for name, value in (reply or {}).items()}

    def finish(self, timeout_s: float) -> int | None:
        """Ask the process to end and wait, so that a tool around it can write its report; return the exit code."""
        with contextlib.suppress(OSError):
            self._socket.sendall(b"quit\n")
        with contextlib.suppress(subprocess.TimeoutExpired):
            return self._process.wait(timeout_s)
        return None

    def close(self) -> None:
        """End the process and all that it started, and remove its folder."""
        self._kill()
        self._socket.close()
        self._outputs.close()
        shutil.rmtree(self.folder, ignore_errors=True)
        if self._dead is None:
            self._dead = CallResult("crash", "the process was closed")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


@dataclass(frozen=True)
class _Plan:
    request: str
    whole: tuple[tuple[int, int, tuple[int, ...], int], ...]
    """Buffer index, offset in outputs.bin, shape, bytes."""
    guards_offset: int
    """-1: nobody looks at them."""
    positions: bytes
    """Which elements of the outputs that are sampled."""
    bytes: int

    @property
    def compares(self) -> bool:
        """Whether inputs are compared by the host program."""
        return "compare" in self.request
