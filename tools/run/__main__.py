"""The command line of ``make run``."""

from __future__ import annotations

import argparse
import os
import signal
import sys
import time
from pathlib import Path
from types import FrameType
from typing import TextIO

from tools.run.addresses import HOST, CannotStart, is_taken, opened, ports_of
from tools.run.clusters import Cluster
from tools.run.stack import DEMO_LOGINS, Stack
from tools.run.supervisor import Supervisor


class Stopped(Exception):
    """Somebody pressed Ctrl-C or sent SIGTERM."""


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tools.run", description="Run the portal with a demo cluster."
    )
    parser.add_argument("--port", type=int, default=8000, help="of the pages (default: 8000)")
    parser.add_argument(
        "--data", type=Path, default=Path(".run"), help="folder of everything kept (default: .run)"
    )
    parser.add_argument(
        "--cluster",
        default=os.environ.get("CLUSTER") or "dev",
        help="dev: the dev server; real: kube-apiserver and etcd, built here; or the path of a kubeconfig",
    )
    parser.add_argument("--fresh", action="store_true", help="empty the folder first")
    arguments = parser.parse_args()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _stop)

    try:
        cluster = Cluster.parse(arguments.cluster)
        return _run(arguments.port, arguments.data.absolute(), cluster, fresh=arguments.fresh)
    except Stopped:
        return 0
    except CannotStart as error:
        _say(str(error), to=sys.stderr)
        return 1


def _run(port: int, root: Path, cluster: Cluster, *, fresh: bool) -> int:
    begun_at = time.monotonic()
    if is_taken(port):
        raise CannotStart(f"Port {port} is taken by another program. Stop it, or choose another with PORT=.")
    with opened(root, fresh=fresh) as data:
        cluster.claim(data)
        ports = ports_of(data)
        cluster.prepare()
        # Somebody's cluster has not the people of the demo.
        is_demo = os.environ.get("DEMO", "1" if cluster.is_ours else "0") == "1"
        stack = Stack(data, ports, port, cluster, is_demo=is_demo)
        supervisor = Supervisor(stack, say=_say)
        _say(f"Starting; logs are in {data.logs}")
        try:
            supervisor.start()
            _say(_banner(stack, seconds=time.monotonic() - begun_at))
            supervisor.watch()
        except Stopped:
            _say("Stopping.")
        finally:
            for number in (signal.SIGINT, signal.SIGTERM):
                signal.signal(number, signal.SIG_IGN)
            supervisor.stop()
    return 0


def _banner(stack: Stack, *, seconds: float) -> str:
    lines = ["", f"  GPU Portal   http://{HOST}:{stack.port}/   (ready after {seconds:.1f} s)", ""]
    if stack.is_demo:
        lines += ["  Demo logins, password `demo`:"]
        lines += [f"    {name:<12} {who}" for name, who in DEMO_LOGINS.items()]
    else:
        lines += ["  DEMO is off: there are no demo logins. Make a local user, with groups of Kubernetes:"]
        lines += [f"    DATA={stack.data.root} {sys.executable} manage.py local_user NAME --group GROUP"]
    if not stack.admits:
        lines += [
            "",
            "  The cluster does not ask the controller about orders: what does not fit waits instead of being refused.",
        ]
        lines += ["  WEBHOOK_HOST=ADDRESS, under which the cluster reaches this machine, changes that."]
    kubeconfig = stack.on.kubeconfig or stack.data.kubeconfig
    lines += ["", f"  kubectl --kubeconfig {kubeconfig} get gpuclasses,gpuclaims -A"]
    lines += [
        f"  Logs in {stack.data.logs}. Ctrl-C stops everything; the data stays in {stack.data.root}.",
        "",
    ]
    return "\n".join(lines)


def _stop(number: int, frame: FrameType | None) -> None:
    raise Stopped


def _say(text: str, *, to: TextIO | None = None) -> None:
    print(text, file=to or sys.stdout, flush=True)


if __name__ == "__main__":
    sys.exit(main())
