"""The bugs, and the quick part of the suite that has to notice each."""

from __future__ import annotations

from typing import Final

from tests.system.mutants.mutant import Mutant

GPU: Final = ("tests/gpu",)
LEDGER: Final = (
    "tests/gpu/test_ledger_stock.py",
    "tests/gpu/test_ledger_orders.py",
    "tests/gpu/test_ledger_sets.py",
    "tests/gpu/test_ledger_properties.py",
)
BUDGETS: Final = ("tests/gpu/test_budgets.py",)
ORDERS: Final = ("tests/controller/test_orders.py", "tests/controller/test_holds.py")
FAILOVER: Final = ("tests/controller/test_leader.py", "tests/controller/test_faults.py")
WRITES: Final = ("tests/controller/test_writes.py",)
NODES: Final = ("tests/controller/test_nodes.py",)
WORLD: Final = ("tests/controller/test_world.py",)
LANES: Final = ("tests/controller/test_lanes.py",)
WATCH: Final = (
    "tests/kube/test_watching.py",
    "tests/kube/test_watching_with_faults.py",
    "tests/kube/test_picture.py",
)


LOAD: Final = ("tests/system/test_oversell.py",)
"""The checker at a loaded cluster: slow, and it has to see what no other test looks for."""

MUTANTS: Final = (
    Mutant(
        "the ledger is not charged before the answer",
        "gpu/planning.py",
        "        self._book.enter(hold)\n        self._verdicts[uid] = verdict\n",
        "",
        LEDGER,
    ),
    Mutant(
        "a reservation never expires",
        "gpu/planning.py",
        "if hold.expires_at <= now]",
        "if hold.expires_at < 0]",
        LEDGER,
    ),
    Mutant(
        "a dry run reserves",
        "controller/term.py",
        "        if dry_run:\n            return self._ledger.check(order).refusals\n",
        "",
        ORDERS,
    ),
    Mutant(
        "a status write names no resourceVersion",
        "controller/fenced.py",
        '{**change.get("metadata", {}), "resourceVersion": resource_version}',
        '{**change.get("metadata", {})}',
        ("tests/system/test_races.py",),
    ),
    Mutant(
        "a status is written again over what changed meanwhile",
        "controller/writes.py",
        "            if await self._is_gone(kind, metadata):\n                return None\n            raise\n",
        "            if await self._is_gone(kind, metadata):\n                return None\n"
        "            now = (await self._gateway.get(kind, metadata.name, namespace=metadata.namespace)).object\n"
        "            status = {'status': {'nodeName': 'n1'}}\n"
        "            answer = await self._gateway.patch(kind, metadata.name, status, namespace=metadata.namespace,"
        " subresource='status', resource_version=now.metadata.resource_version)\n",
        WRITES,
    ),
    Mutant(
        "a node that is gone is kept",
        "gpu/inventory.py",
        "known = self.nodes.pop(name, None)",
        "known = self.nodes.get(name)",
        LEDGER,
    ),
    Mutant(
        "terminating pods are not counted",
        "gpu/attachment.py",
        "    if not node or pod.status.phase in _OVER:",
        "    if not node or pod.status.phase in _OVER or pod.metadata.deletion_timestamp is not None:",
        GPU,
    ),
    Mutant(
        "one spelling of a budget is missed",
        "gpu/budgets.py",
        ', f"limits.{GROUP}/")',
        ")",
        BUDGETS,
    ),
    Mutant(
        "a new list forgets what was deleted meanwhile",
        "kube/picture.py",
        "for key in [key for key in self._uids if key not in self._seen and not self._has_nameless]:",
        "for key in list[tuple[str, str]]():",
        WATCH,
    ),
    Mutant(
        "a retry forgets that a node refused",
        "controller/binder.py",
        "        refused = self._refusals.get(key)\n",
        "        refused = self._refusals.pop(key, None)\n",
        ("tests/system/test_races.py",),
    ),
    Mutant(
        "an older event overwrites a newer one",
        "controller/world.py",
        "        is_older(value.metadata, known.metadata)\n        or value",
        "        value",
        WORLD,
    ),
    Mutant(
        "a budget takes one unit more",
        "gpu/fit.py",
        "budget.used + order.count <= budget.limit",
        "budget.used + order.count <= budget.limit + 1",
        GPU,
    ),
    Mutant(
        "the order that exactly fills its budget is refused",
        "gpu/fit.py",
        "budget.used + order.count <= budget.limit",
        "budget.used + order.count < budget.limit",
        GPU,
    ),
    Mutant(
        "units on several nodes are taken together",
        "gpu/fit.py",
        "fits = asked <= largest",
        "fits = asked <= free",
        GPU,
    ),
    Mutant(
        "units of pods without claims are sold again",
        "gpu/cells.py",
        "taken = self.held + self.foreign",
        "taken = self.held",
        GPU,
    ),
    Mutant(
        "a release does not give its budget back",
        "gpu/book.py",
        "        self._budgets.charge(hold.namespace, hold.class_name, -hold.units)\n",
        "",
        LEDGER,
    ),
    Mutant(
        "the claims of one VM may land apart",
        "gpu/planning.py",
        "hold.planned = common_node(self._book.in_set(order.namespace, order.set_name)) or best_fit(",
        "hold.planned = best_fit(",
        ("tests/system/test_ledger_memory.py",),
    ),
    Mutant(
        "a cordoned node goes on selling",
        "gpu/eligibility.py",
        "    if node.spec.unschedulable:\n        found.append(Obstacle(NodeReason.NODE_CORDONED))\n",
        "",
        ("tests/gpu/test_eligibility.py",),
    ),
    Mutant(
        "a node that is not ready goes on selling",
        "gpu/eligibility.py",
        '            return condition.status == "True"\n',
        '            return condition.status != "False"\n',
        ("tests/gpu/test_eligibility.py",),
    ),
    Mutant(
        "NoExecute keeps nobody off",
        "gpu/eligibility.py",
        "frozenset({Effect.NO_SCHEDULE.value, Effect.NO_EXECUTE.value})",
        "frozenset({Effect.NO_SCHEDULE.value})",
        ("tests/gpu/test_eligibility.py",),
    ),
    Mutant(
        "whoever waits loses the place",
        "gpu/planning.py",
        "max(0, buckets.total - self._inventory.waiting_before(stock))",
        "buckets.total",
        LEDGER,
    ),
    Mutant(
        "a carve-out is not taken off the pool above",
        "gpu/budgets.py",
        "max(0, declared[0] - self._carved_out(owner, subject))",
        "declared[0]",
        BUDGETS,
    ),
    Mutant(
        "a vGPU offer has no limit by default",
        "gpu/fit.py",
        "    return 1 if spec.mode is Mode.VGPU else None\n",
        "    return None\n",
        GPU,
    ),
    Mutant(
        "a plan is kept although its devices are gone",
        "gpu/planning.py",
        "            and tally is not None\n            and tally.figures[5] == 0\n",
        "            and tally is not None\n",
        ("tests/system/test_ledger_memory.py",),
    ),
    Mutant(
        "a claim made anew under its name counts as the old one",
        "gpu/ledger.py",
        "if hold is not None and (hold.uid != meta.uid or not hold.asks_for(meta.namespace, claim.spec)):",
        "if hold is not None and not hold.asks_for(meta.namespace, claim.spec):",
        ("tests/system/test_ledger_memory.py",),
    ),
    Mutant(
        "a new leader is not quiet at first",
        "controller/term.py",
        "clock() + (options.timings.webhook_seconds if is_successor else 0)",
        "clock()",
        FAILOVER,
    ),
    Mutant(
        "a leader writes without looking at its lease",
        "controller/leader.py",
        "        if not self.is_held:\n            raise LeaseLost",
        "        if False:\n            raise LeaseLost",
        FAILOVER,
    ),
    Mutant(
        "a picture that went stale is relied upon",
        "controller/world.py",
        "        return max(1, int(silent)) if silent > self._stale_seconds else None\n",
        "        return None\n",
        WORLD,
    ),
    Mutant(
        "a conflict is the end of it",
        "controller/lanes.py",
        "            return self._failed(key, None)  # what was decided is old, not wrong: look again\n",
        "            return 0.0\n",
        LANES,
    ),
    Mutant(
        "a server that asks for patience gets none",
        "controller/lanes.py",
        "asked_for=error.retry_after_seconds if error else None",
        "asked_for=None",
        ("tests/system/test_patience.py",),
    ),
    Mutant(
        "a claim in use is not kept back from deletion",
        "controller/claim_status.py",
        "    if is_attached and not has_ours and not claim.is_releasing:\n",
        "    if False:\n",
        ("tests/controller/test_claim_status.py", "tests/controller/test_holds.py"),
    ),
    Mutant(
        "a class is deleted under its claims",
        "controller/admission.py",
        "        if not claims:\n",
        "        if claims >= 0:\n",
        ORDERS,
    ),
    Mutant(
        "a watch that was told 410 goes on where it was",
        "kube/picture.py",
        '        if told.type == "ERROR":\n            raise error_from_event(raw)\n',
        '        if told.type == "ERROR":\n            return\n',
        WATCH,
    ),
    Mutant(
        "the deleted and the new object of one name are taken for one",
        "kube/picture.py",
        "        if known_uid is not None and known_uid != metadata.uid:\n",
        "        if known_uid is not None and not metadata.uid:\n",
        WATCH,
    ),
    Mutant(
        "under load: the ledger is not charged before the answer",
        "gpu/planning.py",
        "        self._book.enter(hold)\n        self._verdicts[uid] = verdict\n",
        "",
        LOAD,
    ),
    Mutant(
        "under load: units on several nodes are taken together",
        "gpu/fit.py",
        "fits = asked <= largest",
        "fits = asked <= free",
        LOAD,
    ),
    Mutant(
        "under load: a budget takes one unit more",
        "gpu/fit.py",
        "budget.used + order.count <= budget.limit",
        "budget.used + order.count <= budget.limit + 1",
        LOAD,
    ),
    Mutant(
        "under load: a taint keeps nobody off",
        "gpu/eligibility.py",
        "    if not node.spec.taints:\n        return ()\n",
        "    if node is not None:\n        return ()\n",
        LOAD,
    ),
    Mutant(
        "under load: the most per order is not looked at",
        "gpu/fit.py",
        "    fits = order.count <= offer.max_count\n",
        "    fits = True\n",
        LOAD,
    ),
)
