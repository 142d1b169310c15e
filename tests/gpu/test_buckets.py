from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from gpu.buckets import Buckets


def test_the_fullest_node_that_still_fits_is_best_and_names_decide_between_equals() -> None:
    buckets = Buckets()
    for node, free in (("n4", 8), ("n3", 4), ("n2", 4), ("n1", 1)):
        buckets.put(node, free)

    assert buckets.best(2) == "n2"
    assert buckets.best(2, skip={"n2"}) == "n3"
    assert buckets.best(5) == "n4"
    assert buckets.best(5, skip={"n4"}) is None
    assert buckets.best(9) is None


def test_a_node_that_comes_back_to_a_bucket_a_thousand_times_stays_one() -> None:
    buckets = Buckets()
    buckets.put("other", 2)
    for _ in range(1000):
        buckets.put("n1", 1)
        buckets.put("n1", 2)

    buckets.drop("n1")

    assert buckets.best(1) == "other"
    assert (buckets.total, buckets.largest) == (2, 2)


nodes = st.sampled_from(["n1", "n2", "n3", "n4"])


@given(
    st.lists(st.tuples(nodes, st.none() | st.integers(0, 3)), max_size=60), st.integers(1, 3), st.sets(nodes)
)
def test_sum_maximum_and_best_are_those_of_a_plain_dictionary(
    changes: list[tuple[str, int | None]], units: int, skip: set[str]
) -> None:
    buckets, plain = Buckets(), dict[str, int]()

    for node, free in changes:
        if free is None:
            buckets.drop(node)
            plain.pop(node, None)
        else:
            buckets.put(node, free)
            plain[node] = free

        fitting = [(left, name) for name, left in plain.items() if left >= units and name not in skip]
        assert buckets.best(units, skip=skip) == (min(fitting)[1] if fitting else None)
        assert (
            buckets.best(units)
            == min(((left, name) for name, left in plain.items() if left >= units), default=(0, None))[1]
        )
        assert (buckets.total, buckets.largest) == (sum(plain.values()), max(plain.values(), default=0))
        assert buckets.free_of == plain
