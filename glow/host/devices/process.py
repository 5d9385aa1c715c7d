"""A backend in a process of its own: killed and started again without harm to the host.

    host                                          device process
    inputs --copy--> block of a slot  ==shared==  inputs   -> native code reads them there
    outputs <--copy-- block of a slot ==shared==  outputs  <- and writes there
    request and answer: a few bytes on the connection of the slot

What the process was running when it died fails with `DeviceError`. A thread starts the next
one and loads its networks again; what comes meanwhile waits, unless the host has sent it
elsewhere. One that dies `TRIES` times without an answer is dead.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Sequence
from typing import TYPE_CHECKING

from glow.dialects.errors import GlowError
from glow.host.devices.device import Health
from glow.host.devices.local import check_cores
from glow.host.devices.model_blob import blob_of
from glow.host.devices.process_handle import (
    WORKER,
    Channel,
    DeviceNetworkFile,
    Job,
    WorkerProcess,
)
from glow.host.devices.process_messages import ConnectionLost
from glow.host.devices.remote import RemoteDevice
from glow.host.request import DeviceError, begins
from glow.runtime.memory import memory_bytes
from glow.runtime.threads.cores import available_cores

if TYPE_CHECKING:
    from glow.compiled_model import Array
    from glow.host.devices.specification import DeviceSpecification
    from glow.host.request import Outputs, Request
    from glow.specialized_model import RunnableModel

TRIES = 3
"""How many processes in a row may die without an answer."""

PAUSES = (0.0, 0.2, 1.0)
"""How many seconds go by before each of these is started."""


class ProcessDevice(RemoteDevice[DeviceNetworkFile]):
    """A process that runs networks."""

    def __init__(
        self,
        name: str,
        specification: DeviceSpecification,
        command: Sequence[str] = WORKER,
    ) -> None:
        """The process is pinned where the specification has cores; GlowError for others."""
        self._cores = specification.cores
        check_cores(self._cores)
        slots = len(self._cores) or available_cores()
        limit = specification.memory_bytes or memory_bytes()
        super().__init__(name, specification.backend, slots, limit)
        self._command = command
        self._failures = 0
        self._worker: WorkerProcess | None = None
        self._idle: list[Channel] = []
        self._waiting: deque[Job] = deque()
        self._running = 0
        self._listeners: list[threading.Thread] = []
        self._loading = threading.Lock()
        """Held while networks are loaded."""
        self._starter = self.start_thread(self._start)

    @property
    def pid(self) -> int | None:
        """The number of the process; None while there is none."""
        worker = self._worker
        return worker.pid if worker else None

    def load(self, key: str, model: RunnableModel) -> None:
        """Take a network; raises DeviceMemoryError where it does not fit.

        Raises GlowError where it cannot be stored or loaded, and `DeviceError` where the
        process dies of it.
        """
        number = next(self._numbers)
        network = DeviceNetworkFile(number, model, self.slots, blob_of(model))
        while not self._load(key, network):
            pass

    def _load(self, key: str, network: DeviceNetworkFile) -> bool:
        """Load a network; False where the process has changed before that."""
        worker = self._ready_worker()
        try:
            with self._loading:
                if worker is not self._worker:
                    return False
                self.check_room(key, network.memory_bytes)
                worker.load(network)
                self._networks[key] = network
        except ConnectionLost as lost:
            raise self._lose(worker, str(lost), f" while it loaded '{key}'") from lost
        return True

    def run(self, key: str, inputs: Sequence[Array], request: Request) -> Outputs:
        """The outputs, in order, as a future; never blocks."""
        network = self._network(key)
        job = Job(network, (), request)
        try:
            job.inputs = network.layout.check(inputs)
        except GlowError as error:
            job.set_exception(error)
            return job
        reason = self._queue(job)
        if reason:
            job.set_exception(DeviceError(self.name, reason))
        else:
            self._run_waiting()
        return job

    def _queue(self, job: Job) -> str:
        """Let a job wait, unless it cannot run any more; tells why."""
        with self._changes:
            reason = job.network.lost or self._reason
            if not reason:
                job.network.jobs += 1
                self._waiting.append(job)
            return reason

    def unload(self, key: str) -> None:
        """Let go of a network, when its last request has ended."""
        with self._changes:
            network = self._networks.pop(key, None)
            if network is None:
                return
            network.is_unloaded = True
            worker = self._worker if not network.jobs else None
        if worker is not None:
            worker.unload(network)

    def close(self) -> None:
        """End the requests in flight, and the process."""
        with self._changes:
            if self._is_closed:
                return
            self._is_closed = True
            while (self._waiting or self._running) and self._worker is not None:
                self._changes.wait()
            worker, self._worker = self._worker, None
            self._health, self._reason = Health.DEAD, "it is closed"
            left = list(self._waiting)
            self._waiting.clear()
            self._changes.notify_all()
        for job in left:
            job.cancel()
        if worker is not None:
            worker.end()
        for thread in (self._starter, *self._listeners):
            if thread is not threading.current_thread():
                thread.join()
        self._networks.clear()

    # Requests

    def _run_waiting(self) -> None:
        """Start what waits and finds a channel."""
        while (found := self._next()) is not None:
            job, channel = found
            error = None
            try:
                if begins(job, job.request):
                    channel.send(job, 1 if self.outstanding > 1 else 0)
                    continue
            except Exception as caught:
                error = caught
            if self._take_job(channel, job, is_idle=True) and error is not None:
                text = f"device '{self.name}' takes no inputs: {error}"
                job.set_exception(GlowError(text))

    def _next(self) -> tuple[Job, Channel] | None:
        """A job that waits, and the idle channel that it gets."""
        with self._changes:
            if not (self._waiting and self._idle):
                return None
            job, channel = self._waiting.popleft(), self._idle.pop()
            channel.job = job
            self._running += 1
            return job, channel

    def _take_job(self, channel: Channel, job: Job, *, is_idle: bool) -> bool:
        """Whether the job of a channel is for the caller to finish; then it is done here."""
        with self._changes:
            if channel.job is not job:
                return False
            channel.job = None
            self._running -= 1
            if is_idle:
                self._idle.append(channel)
            network = job.network
            network.jobs -= 1
            is_last = network.is_unloaded and not network.jobs
            worker = self._worker if is_last else None
            if self._is_closed:
                self._changes.notify_all()
        if worker is not None:
            worker.unload(network)
        return True

    def _listen(self, worker: WorkerProcess, channel: Channel) -> None:
        """Finish the jobs of a channel until its process is gone."""
        try:
            self._finish_jobs(channel)
        except ConnectionLost as lost:
            self._lose(worker, str(lost))
        except Exception as error:  # No memory for the outputs.
            self._lose(worker, f"its answer was lost: {type(error).__name__}: {error}")
        finally:
            channel.close()

    def _finish_jobs(self, channel: Channel) -> None:
        while True:
            job, result = channel.receive()
            self._failures = 0
            if not self._take_job(channel, job, is_idle=True):
                return
            self._run_waiting()
            if isinstance(result, GlowError):
                job.set_exception(result)
            else:
                job.set_result(result)
            del job, result

    # The process

    def _ready_worker(self) -> WorkerProcess:
        """The process, as soon as there is one; raises DeviceError where none will be."""
        with self._changes:
            while self._worker is None:
                if self._health is Health.DEAD:
                    raise DeviceError(self.name, self._reason)
                self._changes.wait()
            return self._worker

    def _lose(self, worker: WorkerProcess, reason: str, when: str = "") -> DeviceError:
        """Fail what a process was running, and start the next; the error of all that.

        `reason` is what is known of it, `when` what it was doing beside requests.
        """
        with self._changes:
            is_first = worker is self._worker
            if is_first:
                self._worker = None
                self._health = Health.RESTARTING
                self._idle.clear()
                self._lose_variables()
        reason = (worker.kill() or reason) + when
        error = DeviceError(self.name, reason)
        if not is_first:
            return error
        lost = [(one, one.job) for one in worker.channels if one.job is not None]
        if not lost:
            self._failures = self._failures + 1 if worker.is_young() else 0
        for channel, job in lost:
            if self._take_job(channel, job, is_idle=False):
                job.set_exception(DeviceError(self.name, reason))
        self.changed()
        with self._changes:
            if not self._is_closed:
                self._starter = self.start_thread(self._start)
                return error
        self._die(reason)
        return error

    def _start(self) -> None:
        """Start a process and load the networks, some times if it dies of that."""
        reason = "it died again and again"
        while self._failures < TRIES:
            with self._changes:
                pause = PAUSES[self._failures]
                if self._changes.wait_for(lambda: self._is_closed, pause):
                    return
            failure = self._try_to_start()
            if failure is None:
                return
            reason = failure
            self._failures += 1
        self._die(f"{reason}, {self._failures} times")

    def _try_to_start(self) -> str | None:
        """Start a process with the networks; else tells what was wrong."""
        try:
            worker = WorkerProcess(self._cores, self.slots, self._command)
        except OSError as error:
            return f"its process cannot be started: {error}"
        return self._prepare(worker)

    def _prepare(self, worker: WorkerProcess) -> str | None:
        """Load the networks into a process and let it run; else tells what was wrong."""
        when = " while it started"
        with self._loading:
            try:
                worker.wait_until_ready()
                loaded = dict(self._networks)
                for key, network in loaded.items():
                    when = f" while it loaded '{key}'"
                    if network.lost is None:
                        worker.load(network)
            except (ConnectionLost, GlowError) as error:
                reason = worker.kill() or str(error)
                worker.close_channels()
                return reason + when
            with self._changes:
                if not self._is_closed:
                    self._worker = worker
                    self._health = Health.READY
                    self._idle = list(worker.channels)
                    self._changes.notify_all()
        if worker is not self._worker:
            worker.end()
            worker.close_channels()
            return None
        self._listeners = [
            self.start_thread(self._listen, worker, channel)
            for channel in worker.channels
        ]
        for key, network in loaded.items():
            if key not in self._networks:
                worker.unload(network)
        self.changed()
        self._run_waiting()
        return None

    def _die(self, reason: str) -> None:
        """Be dead, and fail what waits."""
        with self._changes:
            self._health, self._reason = Health.DEAD, reason
            jobs = list(self._waiting)
            self._waiting.clear()
            self._changes.notify_all()
        for job in jobs:
            if not job.done():
                job.set_exception(DeviceError(self.name, reason))
        self.changed()
