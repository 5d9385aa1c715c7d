"""Nodes of a Ray cluster as devices: an actor on each, and the compiled model in its store.

    host                    head                      node
    file of the model --put once--> object --copied by Ray--> object, mapped by the actor
    request ------------------------------------------------> actor.run -> outputs

Ray starts an actor that dies again and repeats the calls that have no answer, once; the
actor asks for the network anew. Calls of networks with variables are never repeated. A node
that is gone is a dead device, which fails the requests that it had.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Mapping, Sequence
from concurrent.futures import Future, InvalidStateError
from contextlib import suppress
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from glow.dialects.errors import GlowError, one_line
from glow.host.devices.device import Health
from glow.host.devices.process_messages import error_of_frame
from glow.host.devices.ray_actor import DONE, FAILED, DeviceActor, ModelOrigin
from glow.host.devices.ray_api import (
    Actor,
    Ref,
    on_node,
    ray_errors,
)
from glow.host.devices.ray_cluster import RayCluster
from glow.host.devices.remote import RemoteDevice, RemoteNetwork
from glow.host.request import DeviceError, begins
from glow.host.sources import source_of
from glow.model_bytes import reader_digest

if TYPE_CHECKING:
    from collections.abc import Callable

    from glow.compiled_model import Array
    from glow.host.devices.specification import DeviceSpecification
    from glow.host.request import Outputs, Request
    from glow.specialized_model import RunnableModel

START_SECONDS = 120.0
"""How long an actor may take to begin: its node may have to be started."""

LOAD_SECONDS = 600.0
RESTARTS = 3
RETRIES = 1
"""How often Ray starts an actor again, and repeats a call that has no answer."""


def ray_devices(specification: DeviceSpecification) -> Sequence[RayDevice]:
    """A device for each node of a cluster that has processors.

    Raises GlowError where Ray is not installed, no cluster is there, or none has a node.
    """
    cluster = RayCluster(specification.address)
    counts: Counter[str] = Counter()
    devices: list[RayDevice] = []
    for node in cluster.ray.nodes():
        if not node["Alive"] or node["Resources"].get("CPU", 0) < 1:
            continue
        address = str(node["NodeManagerAddress"])
        name = f"ray:{address}/{counts[address]}"
        counts[address] += 1
        devices.append(RayDevice(name, node, cluster, specification.memory_bytes))
    if not devices:
        raise GlowError("the Ray cluster has no node with processors")
    return devices


class RayNetwork(RemoteNetwork):
    """A network of a device, and where its file is in the object store."""

    def __init__(self, number: int, model: RunnableModel, device: RayDevice) -> None:
        super().__init__(number, model, device.slots)
        self.object, kind = device.cluster.object_of(model)
        backend = device.backend
        self.origin = ModelOrigin(
            kind, reader_digest(backend), backend, source_of(model)
        )


class RayJob(Future["list[Array]"]):
    """The outputs of a request, which an actor computes."""

    def __init__(
        self,
        device: RayDevice,
        network: RayNetwork,
        inputs: Sequence[Array],
        request: Request,
    ) -> None:
        super().__init__()
        self.device = device
        self.network = network
        self.inputs = inputs
        self.request = request
        self.ref: Ref | None = None
        """What the actor answers."""
        self.is_helped = False
        """Whether whoever asked takes the answer, so that no other thread need."""

    def help(self) -> None:
        """Wait for the answer in this thread, sooner than another is awake."""
        ref = self.ref
        if ref is None:
            return
        self.is_helped = True
        try:
            self.device.finish(self, ref)
        except BaseException:  # Interrupted.
            self.device.wait_for(self, ref)
            raise


class RayDevice(RemoteDevice[RayNetwork]):
    """A node of a cluster."""

    def __init__(
        self, name: str, node: Mapping[str, Any], cluster: RayCluster, limit: int | None
    ) -> None:
        """`node` is what Ray tells of it; `limit` the bytes that networks may take."""
        resources = node["Resources"]
        memory = limit or int(resources.get("memory", 0)) or None
        super().__init__(name, "cpu", int(resources["CPU"]), memory)
        self.cluster = cluster
        self._reason = "it is closed"
        self._jobs: set[RayJob] = set()
        self._errors = ray_errors()
        self._todo: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        """What the device's threads do: one can wait for each answer."""
        options: dict[str, object] = {
            "num_cpus": self.slots,
            "max_restarts": RESTARTS,
            "max_task_retries": RETRIES,
            "max_concurrency": self.slots + 2,
            "scheduling_strategy": on_node(str(node["NodeID"])),
        }
        if limit:
            options["memory"] = limit
        kind = cluster.ray.remote(DeviceActor)
        self.actor: Actor = kind.options(**options).remote()
        cluster.open()
        self._threads = [self.start_thread(self._work) for _ in range(self.slots + 1)]
        self._todo.put(self._begin)

    def load(self, key: str, model: RunnableModel) -> None:
        """Take a network; raises DeviceMemoryError where it does not fit.

        Raises GlowError where it cannot be stored or loaded, and `DeviceError` where the node
        is gone.
        """
        self._wait_until_ready()
        try:
            network = RayNetwork(next(self._numbers), model, self)
        except self._errors as error:
            raise GlowError(
                f"the cluster does not take '{key}': {_text(error)}"
            ) from error
        self.check_room(key, network.memory_bytes)
        try:
            answer = self.cluster.ray.get(self._load(network), timeout=LOAD_SECONDS)
        except self._errors as error:
            raise DeviceError(self.name, _text(error)) from error
        status, detail = cast("list[object]", answer)
        if status == FAILED:
            raise error_of_frame(detail)
        if detail:
            import warnings

            text = f"'{key}' is compiled on device '{self.name}', whose processor is another"
            warnings.warn(text, stacklevel=2)
        self._networks[key] = network

    def run(self, key: str, inputs: Sequence[Array], request: Request) -> Outputs:
        """The outputs, in order, as a future; never blocks for longer than sending takes."""
        network = self._network(key)
        job = RayJob(self, network, inputs, request)
        try:
            job.inputs = network.layout.check(inputs)
            reason = network.lost
            if self._health is Health.DEAD:
                reason = self._reason
            if reason:
                raise DeviceError(self.name, reason)
        except GlowError as error:
            job.set_exception(error)
            return job
        if begins(job, request):
            with self._changes:
                self._jobs.add(job)
            self._send(job)
        return job

    def unload(self, key: str) -> None:
        """Let go of a network; requests that have begun end, since they came first."""
        network = self._networks.pop(key, None)
        if network is not None and self._health is not Health.DEAD:
            self.actor.unload.options(max_task_retries=0).remote(network.number)

    def close(self) -> None:
        """End the requests in flight, and the actor."""
        with self._changes:
            while self._jobs and self._health is not Health.DEAD:
                self._changes.wait()
            was_closed, self._is_closed = self._is_closed, True
            self._health = Health.DEAD
            self._changes.notify_all()
        if was_closed:
            return
        if self.cluster.ray.is_initialized():  # Else Ray would start a cluster here.
            with suppress(*self._errors):
                self.cluster.ray.kill(self.actor)
        self._end_threads()
        self._networks.clear()
        self.cluster.close()

    def _end_threads(self) -> None:
        for _ in self._threads:
            self._todo.put(None)
        for thread in self._threads:
            if thread is not threading.current_thread():
                thread.join()

    # Requests

    def _send(self, job: RayJob, loaded: Ref | None = None) -> None:
        """Ask the actor for a job's outputs."""
        network = job.network
        retries = 0 if network.has_variables else RETRIES
        method = self.actor.run
        if retries != RETRIES:
            method = method.options(max_task_retries=retries)
        threads = 1 if self.outstanding > 1 else None
        try:
            ref = method.remote(network.number, threads, loaded, *job.inputs)
        except Exception as error:
            self._fail(job, error)
            return
        job.ref = ref
        self.wait_for(job, ref)

    def wait_for(self, job: RayJob, ref: Ref) -> None:
        """Let a thread of the device take the answer, unless who asked does."""
        job.is_helped = False

        def wait() -> None:
            if not job.is_helped:
                self.finish(job, ref)

        self._todo.put(wait)

    def finish(self, job: RayJob, ref: Ref) -> None:
        """Take the answer of the actor, as soon as it is there."""
        if job.done() or job.ref is not ref:
            return
        try:
            answer = cast("list[object]", self.cluster.ray.get(ref))
            if answer[0] == DONE:
                self._end(job, [np.array(array) for array in answer[1:]])
            elif answer[0] == FAILED:
                self._end(job, error_of_frame(answer[1]))
            else:
                self._again(job, ref)
        except Exception as error:
            self._fail(job, error)

    def _again(self, job: RayJob, ref: Ref) -> None:
        """Send a job to an actor that does not know its network any more."""
        with self._changes:
            if job.ref is not ref:
                return
            job.ref = None
        if job.network.has_variables:
            self._end(job, DeviceError(self.name, "its network's variables were lost"))
        else:
            self._send(job, self._load(job.network))

    def _fail(self, job: RayJob, error: BaseException) -> None:
        if isinstance(error, self._errors):
            error = DeviceError(self.name, _text(error))
        self._end(job, error)

    def _end(self, job: RayJob, result: list[Array] | BaseException) -> None:
        """Tell what became of a job, unless another thread has."""
        with self._changes:
            if job not in self._jobs:
                return
            self._jobs.discard(job)
            self._changes.notify_all()
        with suppress(InvalidStateError):
            if isinstance(result, BaseException):
                job.set_exception(result)
            else:
                job.set_result(result)

    # The actor

    def _work(self) -> None:
        while (task := self._todo.get()) is not None:
            task()

    def _load(self, network: RayNetwork) -> Ref:
        return self.actor.load.remote(network.number, network.object, network.origin)

    def _wait_until_ready(self) -> None:
        with self._changes:
            self._changes.wait_for(lambda: self._health is not Health.RESTARTING)
            if self._health is Health.DEAD:
                raise DeviceError(self.name, self._reason)

    def _begin(self) -> None:
        """Wait for the actor, load its networks again, and have Ray tell when it is gone."""
        ray = self.cluster.ray
        try:
            ray.get(self.actor.ready.remote(), timeout=START_SECONDS)
            for network in list(self._networks.values()):
                if network.lost is None:
                    ray.get(self._load(network), timeout=LOAD_SECONDS)
            watch = self.actor.watch.options(max_task_retries=0).remote()
        except TimeoutError:
            text = f"its actor did not begin in {START_SECONDS:.0f} s"
            self._die(f"{text}: are the processors of the node taken?")
            return
        except Exception as error:
            self._die(_text(error))
            return
        watch.future().add_done_callback(lambda _: self._todo.put(self._gone))
        self._change(Health.READY)

    def _gone(self) -> None:
        """The actor has gone; where Ray starts it again it will be back."""
        if self._health is Health.DEAD:
            return
        self._lose_variables()
        self._change(Health.RESTARTING)
        self.start_thread(self._begin)  # Those of the device wait for answers.

    def _die(self, reason: str) -> None:
        self._reason = reason
        self._change(Health.DEAD)
        with self._changes:
            jobs = list(self._jobs)
        for job in jobs:
            self._end(job, DeviceError(self.name, reason))

    def _change(self, health: Health) -> None:
        with self._changes:
            if self._health is Health.DEAD:
                return
            self._health = health
            self._changes.notify_all()
        self.changed()


def _text(error: BaseException) -> str:
    """The first line of what Ray says, which goes on with lists of what may be wrong."""
    lines = str(error).strip().splitlines() or [type(error).__name__]
    return one_line(lines[0]).rstrip(".:")
