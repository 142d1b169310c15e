"""Start the processes in their order, start again what dies, stop all of them."""

from __future__ import annotations

import json
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from typing import Final

from tools.run.addresses import CannotStart, answers
from tools.run.children import Child
from tools.run.stack import CONTROLLER_USER, PORTAL_USER, Stack

_READY_WITHIN_SECONDS: Final = 60.0
_STOP_SECONDS: Final = 4.0
_LOOK_SECONDS: Final = 0.05


class Supervisor:
    """Runs one stack. ``say`` gets lines for the console."""

    def __init__(self, stack: Stack, *, say: Callable[[str], None]) -> None:
        self._stack = stack
        self._say = say
        self._children: list[Child] = []
        self._steps: list[Child] = []

    def start(self) -> None:
        """Start everything; return when the portal says that it is ready. Raises CannotStart when it never does."""
        stack, data = self._stack, self._stack.data
        self._run(stack.valkey())
        migrate = self._step(stack.migrate())
        load = self._start_cluster() if stack.on.is_ours else None

        self._finish(migrate)
        users = self._step(stack.demo_users()) if stack.is_demo else None
        if load:
            # Once: afterwards the prices are the hoster's.
            prices = self._step(stack.demo_prices())
            self._finish(load)
            self._finish(prices)
            data.loaded.touch()
        self._run(stack.controller())
        self._run(stack.web())
        self._run(stack.mirror())
        if users:
            self._finish(users)
        self._until("the pages can be used", self._is_usable, every_seconds=0.2)
        # The mirror is fresh without them; they need not compete for the processor with what a person waits for.
        self._run(stack.worker())
        self._run(stack.beat())

    def _start_cluster(self) -> Child | None:
        """Start a cluster of our own; give what loads it where it is new."""
        stack, data = self._stack, self._stack.data
        self._run(stack.cluster())
        self._until("the API server answers", self._has_cluster)
        if not data.kubeconfig.is_symlink():
            data.kubeconfig.symlink_to((data.cluster / "kubeconfig").relative_to(data.root))
        return None if data.loaded.exists() else self._step(stack.demo_cluster())

    def watch(self) -> None:
        """Start again whatever dies, for ever."""
        while True:
            self._look()
            time.sleep(_LOOK_SECONDS)

    def stop(self) -> None:
        """Stop everything within a few seconds: first who asks, last who is asked."""
        asked = {"cluster", "valkey"}
        for group in (
            [*self._steps, *(child for child in self._children if child.name not in asked)],
            [child for child in self._children if child.name in asked],
        ):
            for child in group:
                child.terminate()
            deadline = time.monotonic() + _STOP_SECONDS
            for child in group:
                child.wait(until=deadline)
        self._stack.data.processes.unlink(missing_ok=True)

    def _run(self, child: Child) -> None:
        child.start()
        self._children.append(child)
        self._write_processes()

    def _step(self, child: Child) -> Child:
        child.start()
        self._steps.append(child)
        return child

    def _finish(self, step: Child) -> None:
        self._until(f"{step.name} is done", lambda: step.exit_code() is not None)
        if step.exit_code() != 0:
            raise CannotStart(f"{step.name} failed ({step.log}):\n{step.last_words()}")
        self._steps.remove(step)

    def _until(self, what: str, is_true: Callable[[], bool], *, every_seconds: float = _LOOK_SECONDS) -> None:
        deadline = time.monotonic() + _READY_WITHIN_SECONDS
        while not is_true():
            if time.monotonic() > deadline:
                raise CannotStart(
                    f"Waited {_READY_WITHIN_SECONDS:.0f} s in vain until {what}. {self._why_not_usable()}"
                )
            self._look()
            time.sleep(every_seconds)

    def _look(self) -> None:
        for child in self._children:
            code = child.died()
            if code is not None:
                how = (
                    f"was killed by signal {-code}"
                    if code < 0
                    else f"ended with code {code}:\n{child.last_words()}"
                )
                self._say(f"[{child.name}] {how}\n[{child.name}] starting it again; its log is {child.log}")
            if child.is_due():
                child.start()
                self._write_processes()

    def _has_cluster(self) -> bool:
        stack = self._stack
        files = [stack.data.cluster / "kubeconfig", *map(stack.kubeconfig_of, (PORTAL_USER, CONTROLLER_USER))]
        return (
            answers(stack.ports.api)
            and all(path.exists() for path in files)
            and stack.on.is_ready(stack.data)
        )

    def _is_usable(self) -> bool:
        """Say whether a person can work. The worker is started after that."""
        down = self._what_is_down()
        return down is not None and set(down) <= {"worker"} and answers(self._stack.ports.webhook)

    def _why_not_usable(self) -> str:
        down = self._what_is_down()
        if down is None:
            return "The portal does not answer."
        return f"What is down: {', '.join(down) or 'the controller'}."

    def _what_is_down(self) -> list[str] | None:
        """Ask the portal; None when it gives no answer that makes sense."""
        try:
            with urllib.request.urlopen(f"{self._stack.url}readyz", timeout=2):  # noqa: S310  # our own http address
                return []
        except urllib.error.HTTPError as error:
            text = error.read().decode(errors="replace")
        except OSError:
            return None
        try:
            return list(json.loads(text)["down"])
        except (ValueError, KeyError):
            return [f"/readyz itself: {text[:200]}"]

    def _write_processes(self) -> None:
        path = self._stack.data.processes
        draft = path.with_suffix(".new")
        draft.write_text(json.dumps({child.name: child.pid for child in self._children}))
        draft.replace(path)
