from __future__ import annotations

import pytest

from gpu.budgets import Budgets
from gpu.fit import Budget
from tests.builders import a_namespace, a_quota

ROOT, ACME, LAB, GLOBEX = "tenant-root", "tenant-acme", "tenant-acme-lab", "tenant-globex"
L40S, TOTAL = "gpu.cozystack.io/l40s", "gpu.cozystack.io/total"


@pytest.fixture
def budgets() -> Budgets:
    """root above acme and globex, acme above its lab; no limits yet."""
    tree = Budgets()
    tree.set_namespace(a_namespace(ROOT))
    tree.set_namespace(a_namespace(ACME, ancestors=[ROOT]))
    tree.set_namespace(a_namespace(LAB, ancestors=[ROOT, ACME]))
    tree.set_namespace(a_namespace(GLOBEX, ancestors=[ROOT]))
    return tree


def _class_budget(budgets: Budgets, namespace: str) -> Budget | None:
    return next((b for b in budgets.for_order(namespace, "l40s") if not b.is_total), None)


def test_no_quota_is_no_limit(budgets: Budgets) -> None:
    assert budgets.for_order(ACME, "l40s") == ()


@pytest.mark.parametrize("prefix", ["", "requests.", "limits."])
def test_every_spelling_is_the_same_budget(budgets: Budgets, prefix: str) -> None:
    budgets.set_quota(a_quota({f"{prefix}{L40S}": "4"}, namespace=ACME))
    budgets.charge(ACME, "l40s", 3)

    assert budgets.for_order(ACME, "l40s") == (
        Budget(key=L40S, used=3, limit=4, quota=f"{ACME}/tenant-quota", pool=ACME, is_total=False),
    )


def test_the_smallest_of_all_quotas_and_spellings_counts_and_is_named(budgets: Budgets) -> None:
    budgets.set_quota(a_quota({L40S: 9, f"limits.{L40S}": 5}, namespace=ACME, name="wide"))
    budgets.set_quota(a_quota({f"requests.{L40S}": 4}, namespace=ACME, name="narrow"))

    budget = _class_budget(budgets, ACME)

    assert budget is not None
    assert (budget.limit, budget.quota) == (4, f"{ACME}/narrow")


def test_zero_forbids_and_is_not_no_limit(budgets: Budgets) -> None:
    budgets.set_quota(a_quota({L40S: "0"}, namespace=ACME))

    budget = _class_budget(budgets, ACME)

    assert budget is not None
    assert budget.limit == 0


def test_the_total_counts_every_class_in_units(budgets: Budgets) -> None:
    budgets.set_quota(a_quota({TOTAL: 8}, namespace=ACME))
    budgets.charge(ACME, "l40s", 3)
    budgets.charge(ACME, "h200", 4)

    (total,) = budgets.for_order(ACME, "l40s")

    assert (total.used, total.limit, total.is_total) == (7, 8, True)


def test_a_descendant_without_a_key_counts_against_the_nearest_ancestor_that_has_it(budgets: Budgets) -> None:
    budgets.set_quota(a_quota({L40S: 20}, namespace=ROOT))
    budgets.set_quota(a_quota({L40S: 8}, namespace=ACME))
    budgets.charge(ACME, "l40s", 2)
    budgets.charge(LAB, "l40s", 3)

    lab, acme, globex = (_class_budget(budgets, name) for name in (LAB, ACME, GLOBEX))

    assert lab == acme
    assert lab is not None
    assert (lab.used, lab.limit, lab.pool) == (5, 8, ACME)
    assert globex is not None
    assert (globex.used, globex.limit, globex.pool) == (0, 12, ROOT)


def test_a_carve_out_is_taken_off_whole_and_only_once(budgets: Budgets) -> None:
    budgets.set_quota(a_quota({L40S: 10}, namespace=ROOT))
    budgets.set_quota(a_quota({L40S: 6}, namespace=ACME))
    budgets.set_quota(a_quota({L40S: 2}, namespace=LAB))

    limits = {name: _class_budget(budgets, name) for name in (ROOT, ACME, LAB)}

    assert {name: budget.limit for name, budget in limits.items() if budget} == {ROOT: 4, ACME: 4, LAB: 2}


def test_carve_outs_beyond_the_budget_leave_nothing_and_never_less(budgets: Budgets) -> None:
    budgets.set_quota(a_quota({L40S: 3}, namespace=ROOT))
    budgets.set_quota(a_quota({L40S: 5}, namespace=ACME))

    budget = _class_budget(budgets, GLOBEX)

    assert budget is not None
    assert budget.limit == 0


def test_a_key_of_its_own_for_one_class_leaves_the_total_with_the_parent(budgets: Budgets) -> None:
    budgets.set_quota(a_quota({TOTAL: 8}, namespace=ACME))
    budgets.set_quota(a_quota({L40S: 2}, namespace=LAB))
    budgets.charge(LAB, "l40s", 1)

    by_class, total = budgets.for_order(LAB, "l40s")

    assert (by_class.pool, total.pool, total.used, total.limit) == (LAB, ACME, 1, 8)


def test_without_labels_a_namespace_stands_alone(budgets: Budgets) -> None:
    budgets.set_quota(a_quota({L40S: 4}, namespace=ROOT))

    assert budgets.for_order("default", "l40s") == ()


def test_labels_that_name_each_other_do_not_loop() -> None:
    budgets = Budgets()
    budgets.set_namespace(a_namespace("a", ancestors=["b"]))
    budgets.set_namespace(a_namespace("b", ancestors=["a"]))
    budgets.set_quota(a_quota({L40S: 4}, namespace="a"))

    budget = _class_budget(budgets, "b")

    assert budget is not None
    assert budget.pool == "a"


@pytest.mark.parametrize(
    "ignored",
    [
        a_quota({L40S: 1}, namespace=ACME, scopes=["BestEffort"]),
        a_quota(
            {L40S: 1}, namespace=ACME, labels={"quota.cozystack.io/managed-by": "tenant-quota-controller"}
        ),
        a_quota({L40S: "1.5", f"count/{L40S}": 1, "requests.cpu": 4, "gpu.cozystack.io/": 1}, namespace=ACME),
    ],
)
def test_scoped_derived_and_unreadable_limits_are_not_read(budgets: Budgets, ignored: object) -> None:
    budgets.set_quota(ignored)  # type: ignore[arg-type]  # parametrized as object

    assert budgets.for_order(ACME, "l40s") == ()


def test_a_limit_that_goes_takes_its_pool_along(budgets: Budgets) -> None:
    budgets.set_quota(a_quota({L40S: 4}, namespace=ACME))
    budgets.charge(LAB, "l40s", 2)
    assert _class_budget(budgets, LAB) is not None

    assert budgets.remove_quota(ACME, "tenant-quota")

    assert _class_budget(budgets, LAB) is None
    assert not budgets.remove_quota(ACME, "tenant-quota")


def test_a_status_update_of_a_quota_changes_nothing(budgets: Budgets) -> None:
    quota = a_quota({L40S: 4}, namespace=ACME)
    assert budgets.set_quota(quota)
    quota.status.used["gpu.cozystack.io/l40s"] = "3"

    assert not budgets.set_quota(quota)


def test_a_key_of_no_class_is_a_probable_typo(budgets: Budgets) -> None:
    budgets.set_quota(a_quota({L40S: 4, "limits.gpu.cozystack.io/l40": 2, TOTAL: 9}, namespace=ACME))

    assert budgets.unknown_keys(["l40s"]) == ((f"{ACME}/tenant-quota", "gpu.cozystack.io/l40"),)


def test_a_tenant_sees_every_budget_it_counts_against_and_who_shares_it(budgets: Budgets) -> None:
    budgets.set_quota(a_quota({"gpu.cozystack.io/h200": 1, TOTAL: 9}, namespace=ROOT))
    budgets.set_quota(a_quota({L40S: 4}, namespace=ACME))
    budgets.charge(LAB, "l40s", 2)

    assert [budget.key for budget in budgets.of_namespace(LAB)] == ["gpu.cozystack.io/h200", L40S, TOTAL]
    assert budgets.pool_members(LAB, "l40s") == ((ACME, 0), (LAB, 2))
    assert budgets.used(LAB) == 2


def test_a_change_concerns_all_who_share_a_budget_and_all_below(budgets: Budgets) -> None:
    budgets.set_namespace(a_namespace("tenant-acme-lab-b", ancestors=["tenant-root", "tenant-acme"]))
    everybody = budgets.around(["tenant-root"])

    assert budgets.around(["tenant-acme-lab"]) == {"tenant-acme-lab"}, "nobody above has a budget to share"

    budgets.set_quota(a_quota({"gpu.cozystack.io/total": 9}))

    assert budgets.around(["tenant-acme-lab-b"]) == {"tenant-acme", "tenant-acme-lab", "tenant-acme-lab-b"}
    assert budgets.around(["tenant-acme"]) == budgets.around(["tenant-acme-lab-b"])
    assert budgets.around(["tenant-root"]) == everybody > budgets.around(["tenant-acme"])
    assert budgets.around([]) == set()
