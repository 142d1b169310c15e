from __future__ import annotations

import pytest

from catalog.memory_words import memory_fault
from catalog.names import label_fault, suggest_label
from catalog.resource_words import closest_resource, resource_fault, resource_warning


@pytest.mark.parametrize("text", ["48Gi", "1.5Gi", "46068Mi", "129e6", "1G", ".5Gi", "+5Gi", "51539607552"])
def test_memory_that_the_schema_takes_and_makes_sense_is_taken(text: str) -> None:
    assert memory_fault(text) == ""


@pytest.mark.parametrize(
    ("text", "guess"),
    [
        ("48GB", "48Gi"),
        ("48 GB", "48Gi"),
        ("48GiB", "48Gi"),
        ("48g", "48Gi"),
        ("48gi", "48Gi"),
        ("4,5Gi", "4.5Gi"),
        ("４８Gi", "48Gi"),
        ("1_000Gi", "1000Gi"),
        ("6GiB", "6Gi"),
        ("48", "48Gi"),
    ],
)
def test_memory_as_people_write_it_is_answered_with_what_was_meant(text: str, guess: str) -> None:
    assert memory_fault(text).endswith(f"Did you mean {guess}?")


@pytest.mark.parametrize("text", ["1.2.5Gi", "1e5Gi", "NaN", "Infinity", "much", "48K"])
def test_memory_that_nobody_can_guess_is_refused_without_a_guess_that_is_wrong(text: str) -> None:
    fault = memory_fault(text)

    assert fault
    assert "Did you mean" not in fault


@pytest.mark.parametrize(
    ("text", "word"),
    [("0", "more memory"), ("-1Gi", "more memory"), ("100m", "less than 1 MiB"), ("1E", "16 TiB")],
)
def test_memory_that_the_schema_takes_but_no_gpu_has_is_refused(text: str, word: str) -> None:
    assert word in memory_fault(text)


@pytest.mark.parametrize(
    "text",
    [
        "nvidia.com/AD102GL_L40S",
        "nvidia.com/mig-1g.10gb",
        "nvidia.com/gpu.shared",
        "gpu.intel.com/i915",
        "iluvatar.ai/MR-V50.vMem",
        "devices.kubevirt.io/kvm",
        "nvidia.com/2571",
        "nvidia.com/GB202GL_RTX_PRO_6000_BLACKWELL_SERVER_EDITION",
    ],
)
def test_names_that_are_really_advertised_are_taken(text: str) -> None:
    assert resource_fault(text) == ""


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("gpu", "vendor's part is missing"),
        ("nsm.ligato.io", "vendor's part is missing"),
        ("NVIDIA.com/gpu", "lower case: nvidia.com"),
        ("nvidia.com/", "name after"),
        ("nvidia.com//gpu", "Only one"),
        ("nvidia.com/gpu/0", "Only one"),
        ("/gpu", "in front of"),
        ("NVIDIA A40-12Q", "without spaces"),
        ("nvidia.com/NVIDIA A40-12Q", "without spaces"),
        ("amd.com/STRIX_HALO_RADEON_GRAPHICS___RADEON_8050S_GRAPHICS___RADEON_8060S_GRAPHICS", "74 of 63"),
        ("gpu.cozystack.io/l40s", "budgets"),
        ("nvidia.com/-gpu", "begin and end"),
    ],
)
def test_each_fault_of_a_resource_has_a_plain_sentence(text: str, word: str) -> None:
    fault = resource_fault(text)

    assert word in fault
    assert "^" not in fault


def test_a_resource_that_nobody_advertises_is_answered_with_the_closest_one() -> None:
    advertised = ["nvidia.com/GRID_T4-2Q", "nvidia.com/gpu"]

    assert resource_warning("nvidia.com/gpu", advertised) == ""
    assert "nvidia.com/GRID_T4-2Q" in resource_warning("nvidia.com/GRID_T4_2Q", advertised)
    assert "nvidia.com/gpu" in resource_warning("nvida.com/gpu", advertised)
    assert "closest" not in resource_warning("amd.com/MI300X", advertised)
    assert "not a GPU" in resource_warning("devices.kubevirt.io/kvm", advertised)


def test_a_resource_in_other_letters_is_offered_as_it_is_advertised() -> None:
    assert (
        closest_resource("nvidia.com/RTX5000-ADA-8Q", ["nvidia.com/RTX5000-Ada-8Q"])
        == "nvidia.com/RTX5000-Ada-8Q"
    )
    assert closest_resource("nvidia.com/gpu", ["nvidia.com/gpu", "nvidia.com/gpus"]) == ""
    assert closest_resource("amd.com/MI300X", ["nvidia.com/gpu"]) == ""


@pytest.mark.parametrize("text", ["l40s", "8", "1g-10gb", "new", "edit", "a" * 63])
def test_a_dns_label_is_a_name(text: str) -> None:
    assert label_fault(text) == ""


@pytest.mark.parametrize(
    ("text", "guess"),
    [
        ("L40S", "l40s"),
        ("a100_80gb", "a100-80gb"),
        ("l40s-", "l40s"),
        ("-l40s", "l40s"),
        ("l40s.24c", "l40s-24c"),
        ("TEST", "test"),
        ("a" * 64, "a" * 63),
    ],
)
def test_a_wrong_name_is_answered_with_a_right_one(text: str, guess: str) -> None:
    assert label_fault(text).endswith(f"Did you mean {guess}?")
    assert label_fault(suggest_label(text)) == ""


def test_a_name_of_nothing_usable_gets_no_guess() -> None:
    assert "Did you mean" not in label_fault("___")
