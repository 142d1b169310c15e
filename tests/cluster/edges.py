"""The values at which the schema and the rules of GPUClass change their mind, and those that people really send.

Public cases: tolerations and taints (A), extended resource names (B) as they were seen in other projects' reports.
"""

from __future__ import annotations

from typing import Any, Final

ABSENT: Final = object()
"""Stands for a field that is not there."""

ODD: Final[list[Any]] = [None, "", 0, 1, -1, 1.5, True, False, [], {}, ["x"], {"x": "y"}]
"""A value of every type."""

TEXTS: Final[list[Any]] = [
    "x", "a" * 63, "a" * 64, "ä" * 63, "ä" * 64, "😀" * 63, "😀" * 64, " ", "a\nb", "a\tb", "\u0000", "\u007f", "<b>&'\"\\", "\u2028",
]  # fmt: skip

NAMES: Final[list[Any]] = [
    "a", "0", "a0", "a-b", "l40s", "a" * 63, "a" * 64, "a" * 253, "a" * 254, "a.b", "a..b", "-a", "a-", ".a", "a.", "A", "Abc",
    "a_b", "a b", "a/b", "a%b", "ä", "", "total", "totals", "Total", "total.a", "a\n", "a-" * 31 + "a", ".", "..", None,
]  # fmt: skip

QUANTITIES: Final[list[Any]] = [
    "1", "0", "+1", "-1", "00", ".5", "5.", ".", "1.5", "1Ki", "1Mi", "1Gi", "1.5Ti", "1Pi", "1Ei", "1Zi", "1n", "1u", "1m", "1k", "1M",
    "1G", "1T", "1P", "1E", "1K", "1gi", "1GB", "1GiB", "1g", "1Gi ", " 1Gi", "1 Gi", "1,5Gi", "1e3", "1E3", "1e+3", "1e-3", "1e1.5",
    "1e.5", "1e", "e3", "Ki", "1KiKi", "0x10", "1_000", "1Gi\n", "48GB", "48 GiB", "１", "1e3Ki", "++1", "+-1", "--1", "1.5.5",
    2**31, 2**63 - 1, 51539607552, 1.0, 1e3, 1e21, -0.0, 2**53 + 1,
]  # fmt: skip

FIELDS: Final[dict[str, list[Any]]] = {
    "vendor": [*ODD, *TEXTS],
    "model": [*ODD, *TEXTS],
    "displayName": [*ODD, "a" * 256, "a" * 257, "ä" * 256, "ä" * 257, "😀" * 256, "😀" * 257, "a\nb"],
    "memory": [*ODD, *QUANTITIES],
    "maxCount": [*ODD, 2, 1.0, 2.0, 1e3, 0.0, 1.0000001, 2**31 - 1, 2**31, -(2**31), -(2**31) - 1, 2**63 - 1, 2**63, 1e20, "1", "01"],
    "mode": [*ODD, "vgpu", "PassThrough", "passthrough ", "VGPU", "dra"],
    "onCordon": [*ODD, "Move", "Stay", "move", "STAY", "Stay "],
    "nodeSelector": [
        *ODD, {"a": ""}, {"a": None}, {"a": 1}, {"a": True}, {"a": {}}, {"a": []}, {"": "x"}, {"a": "x", "b": None, "c": 2.5},
        {"not a label": "not a value!"}, {"a.b/c": "d"}, {"a[0]": 1}, {"kubernetes.io/hostname": 1},
    ],
    "tolerations": [
        *ODD, [None], ["x", "y"], [[]], [1], [{}], [{}, {}], [{"operator": "Exists"}] * 2, [{"operator": "Exists"}] * 32,
        [{"operator": "Exists"}] * 33, [{}] * 33, {"key": "key1", "operator": "Equal"}, [{"operator": "Exists"}, {}, {"operator": "Equal"}],
    ],
    "source": [
        *ODD, {"devicePlugin": None}, {"devicePlugin": {}}, {"devicePlugin": []}, {"devicePlugin": "nvidia.com/gpu"}, {"dra": {}},
        {"dra": {}, "devicePlugin": {"resourceName": "a.b/c"}}, {"devicePlugin": {"resourceName": "a.b/c", "more": 1}},
        {"DevicePlugin": {"resourceName": "a.b/c"}}, {"devicePlugin": {"resourcename": "a.b/c"}},
    ],
    "unknown": [None, "x", {}, []],
    "Vendor": ["NVIDIA"],
}  # fmt: skip

_LONG_DOMAIN: Final = ".".join(["a" * 63] * 3 + ["a" * 61])
"""253 characters."""

RESOURCE_NAMES: Final[list[Any]] = [
    *ODD,
    # legal and really advertised
    "nvidia.com/AD102GL_L40S", "nvidia.com/GA102GL_A10", "nvidia.com/TU104GL_TESLA_T4", "nvidia.com/GH100_H200_SXM_141GB",
    "nvidia.com/L40S-24Q", "nvidia.com/A100-40C", "nvidia.com/GRID_P4-1Q", "nvidia.com/NVIDIA_A40-12Q", "nvidia.com/mig-1g.10gb",
    "nvidia.com/gpu.shared", "nvidia.com/gpumem-percentage", "amd.com/gpu", "gpu.intel.com/i915", "gpu.intel.com/xe",
    "gpu.nvidia.com/mig-1g.10gb", "iluvatar.ai/MR-V50.vMem", "devices.kubevirt.io/kvm", "nvidia.com/2571",
    "nvidia.com/RTX5000-Ada-8Q", "nvidia.com/RTX5000-ADA-8Q", "nvidia.com/GRID_T4_2Q", "nvida.com/gpu", "hauwei.com/npu-cpu",
    "nvidia.com/GB202GL_RTX_PRO_6000_BLACKWELL_SERVER_EDITION",
    # malformed
    "gpu", "nsm.ligato.io", "NVIDIA.com/gpu", "nvidia.com/gpu ", " nvidia.com/gpu", "nvidia.com/", "nvidia.com//gpu", "nvidia.com/gpu/0",
    "NVIDIA A40-12Q", "nvidia.com/NVIDIA A40-12Q", "nvidia.com/gpu\n", "nvidia.com/gpu\r", "/gpu", "/", "//", "a/", "a/b", "a/b\n",
    "amd.com/STRIX_HALO_RADEON_GRAPHICS___RADEON_8050S_GRAPHICS___RADEON_8060S_GRAPHICS",
    # edges of the pattern
    "a/" + "b" * 63, "a/" + "b" * 64, "a/-b", "a/b-", "a/_b", "a/b_", "a/.b", "a/b.", "a/b..b", "a/b-_.b", "-a/b", "a-/b", "a--b/c",
    ".a/b", "a./b", "a..b/c", "a.-b/c", "a-.b/c", "a_b/c", "ä/b", "a/ä", "a:b/c", "a/b:c", "a/b=c", "0/0", "a.b.c.d/E",
    f"{_LONG_DOMAIN}/{'b' * 63}", f"{_LONG_DOMAIN}a/{'b' * 63}", f"{_LONG_DOMAIN}a/b", "a" * 318, "\u0000/a",
    # the group of the budgets
    "gpu.cozystack.io/total", "gpu.cozystack.io/l40s", "gpu.cozystack.io/", "gpu.cozystack.io", "gpu.cozystack.io.example/a",
    "agpu.cozystack.io/a", "gpu.cozystack.ioo/a", "GPU.cozystack.io/a", "requests.gpu.cozystack.io/a",
]  # fmt: skip

TOLERATIONS: Final[list[Any]] = [
    {"operator": "Exists"},
    {"key": "drbd.linbit.com/lost-quorum", "effect": "NoSchedule"},
    {"key": "node-role.kubernetes.io/master", "operator": "Equal", "value": "", "effect": "NoSchedule"},
    {"key": "node.cloudprovider.kubernetes.io/uninitialized", "value": "true", "effect": "NoSchedule"},
    {"key": "nvidia.com/gpu", "operator": "Exists"},
    {"key": "node-role.kubernetes.io/etcd", "value": "true"},
    {"key": "sku", "value": "gpu", "effect": "NoSchedule"},
    {"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"},
    {"key": "kubernetes.azure.com/scalesetpriority", "value": "spot", "effect": "NoSchedule"},
    {"key": "amd-dcm", "value": "up", "effect": "NoExecute"},
    {"key": "kwok.x-k8s.io/node", "value": "fake", "effect": "NoSchedule"},
    {"key": "sku=gpu:NoSchedule"},
    {"key": "amd.com/gpu:NoSchedule"},
    {"key": "key1=value1:NoSchedule-"},
    {"key": "node.kubernetes.io/not-ready", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 900},
    {"key": "node.kubernetes.io/not-ready", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 0},
    {"key": "node.kubernetes.io/not-ready", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": -1},
    {"key": "node.kubernetes.io/not-ready", "operator": "Exists", "effect": "NoExecute"},
    {"key": "nvidia.com/gpu", "operator": "Equal", "value": "true", "effect": "NoSchedule", "tolerationSeconds": 0},
    {"key": "nvidia.com/gpu", "operator": "Equal", "value": "true", "tolerationSeconds": 0},
    {"key": "nvidia.com/gpu", "effect": "PreferNoSchedule", "tolerationSeconds": 5},
    {"key": "pool", "operator": "Exists", "value": "build", "effect": "NoSchedule"},
    {"key": "pool", "operator": "Exists", "value": "", "effect": "NoSchedule"},
    {"key": "pool", "value": True},
    {"key": "pool", "value": '"true"'},
    {"key": "workload", "value": "sandbox", "effect": "NO_SCHEDULE"},
    {"key": "dedicated", "operator": "equal", "value": "sensors", "effect": "no_schedule"},
    {"key": "node.kubernetes.io/sla", "operator": "Gt", "value": "950", "effect": "NoSchedule"},
    {"key": "node.kubernetes.io/sla", "operator": "Lt", "value": "950", "effect": "NoExecute", "tolerationSeconds": 30},
    {"key": "k", "operation": "Exists", "effect": "NoSchedule"},
    {"key": "node-role.kubernetes.io/master", "effect": "NoSchedule"},
    {"operator": "Equal"},
    {"operator": "Equal", "key": ""},
    {"operator": "Exists", "key": ""},
    {"operator": "Exists", "value": "x"},
    {"value": "x"},
    {"effect": "NoSchedule"},
    {"key": "", "value": "-", "effect": "NoSchedule", "tolerationSeconds": 1},
    {"key": "-", "operator": "Exists", "value": "-", "effect": "NoSchedule", "tolerationSeconds": 1},
    {"key": f"{_LONG_DOMAIN}/{'b' * 63}", "operator": "Exists"},
    {"key": f"{_LONG_DOMAIN}a/b", "operator": "Exists"},
    {"key": f"{_LONG_DOMAIN}a/b", "operator": "Equal", "effect": "", "value": "x" * 64},
]  # fmt: skip

TOLERATION_FIELDS: Final[dict[str, list[Any]]] = {
    "key": [
        *ODD, "a" * 63, "a" * 64, "a" * 317, "a" * 318, "a/b", "a/b/c", "A/b", "a/B", "a-", "-a", "a.", "a..b", "a_b", "a b", "a\n", "ä", "/a",
        "a/", f"{_LONG_DOMAIN}/{'b' * 63}", f"{_LONG_DOMAIN}/{'b' * 64}", f"{_LONG_DOMAIN}a/b", f"{'a' * 254}/b",
    ],
    "value": [*ODD, "a" * 63, "a" * 64, "a-", "-a", "a.", ".a", "a..b", "a_b", "_", "A-Z", "a b", "a/b", "a\n", "ä", "ä" * 63, "ä" * 64],
    "effect": [*ODD, "NoSchedule", "PreferNoSchedule", "NoExecute", "NoSchedul", "noexecute"],
    "operator": [*ODD, "Exists", "Equal", "exists", "In"],
    "tolerationSeconds": [*ODD, 300, 1.0, 2**31, 2**63 - 1, 2**63, -(2**63), -(2**63) - 1, "300", 1e18, 1e19],
}  # fmt: skip

PROFILES: Final[list[Any]] = [ABSENT, *ODD, "L40S-24Q", "a" * 63, "a" * 64, "ä" * 64]

SPECS: Final[list[Any]] = [
    {}, [], "x", 5, True, {"vendor": "NVIDIA"}, {"mode": "vgpu"}, {"source": {}}, {"vendor": 5, "model": [], "mode": {}, "source": "x"},
    {"vendor": "", "model": "", "mode": "", "source": {}, "maxCount": 0, "memory": "x"},
]  # fmt: skip

TOPS: Final[list[dict[str, Any]]] = [
    {"status": None}, {"status": {}}, {"status": {"free": 3}}, {"status": {"free": "x"}}, {"status": {"bogus": 1}}, {"status": "x"},
    {"status": {"conditions": [{"type": "Served"}]}}, {"status": []},
    {"extra": 1}, {"Spec": {}}, {"kind": "GPUClaim"}, {"kind": ""}, {"kind": None}, {"kind": 5},
    {"apiVersion": ""}, {"apiVersion": "v1"}, {"apiVersion": 5}, {"spec": None},
]  # fmt: skip

METADATA: Final[list[Any]] = [
    {"name": "a", "unknown": 1}, {"name": "a", "labels": {"a": "b"}}, {"name": "a", "labels": {"a": "not a value!"}},
    {"name": "a", "labels": {"not a key!": "b"}}, {"name": "a", "labels": {"a": 1}}, {"name": "a", "labels": None},
    {"name": "a", "annotations": {"a": "b"}}, {"name": "a", "annotations": {"not a key!": "b"}}, {"name": "a", "annotations": {"A.b/C": "b"}},
    {"name": "a", "annotations": {"a": 1}}, {"name": "a", "finalizers": ["example.com/x"]}, {"name": "a", "finalizers": ["x"]},
    {"name": "a", "finalizers": [1]}, {"name": "a", "namespace": "default"}, {"name": "a", "generateName": "b-"}, {"generateName": "b-"},
    {"generateName": "B-"}, {"name": 5}, {"name": "a", "uid": "x"}, {"name": "a", "resourceVersion": "5"}, {"name": "a", "generation": 9},
    {"name": "a", "creationTimestamp": None}, {"name": "a", "creationTimestamp": "x"}, {"name": "a", "labels": {"a" * 64: "b"}},
    {"name": "a", "labels": {"a": "b" * 64}}, {"name": "a", "labels": []}, {}, None, [], "x",
    {"name": "a", "ownerReferences": [{"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "u"}]},
    {"name": "a", "ownerReferences": [{"apiVersion": "v1", "kind": "Pod", "name": "p"}]},
    {"name": "a", "ownerReferences": [{}]},
]  # fmt: skip

RAW: Final[list[tuple[str, str, str]]] = [
    ("raw: a field twice", '"mode": "passthrough"', '"mode": "vgpu", "mode": "passthrough"'),
    ("raw: a top field twice", '"kind": "GPUClass"', '"kind": "GPUClass", "kind": "GPUClass"'),
    ("raw: twice and unknown", '"mode": "passthrough"', '"x": 1, "mode": "vgpu", "mode": "passthrough"'),
    ("raw: the name twice", '"name": "offer"', '"name": "offer", "name": "other"'),
    ("raw: 1e3 as a count", '"mode": "passthrough"', '"mode": "passthrough", "maxCount": 1e3'),
    ("raw: 1.50 as a count", '"mode": "passthrough"', '"mode": "passthrough", "maxCount": 1.50'),
    ("raw: a long count", '"mode": "passthrough"', '"mode": "passthrough", "maxCount": 99999999999999999999'),
    ("raw: a long memory", '"mode": "passthrough"', '"mode": "passthrough", "memory": 99999999999999999999'),
    ("raw: half a surrogate", '"NVIDIA"', '"\\ud800"'),
    ("raw: escapes", '"NVIDIA"', '"\\u004e\\u00e4\\ud83d\\ude00"'),
]  # fmt: skip

UPDATES: Final[list[tuple[str, str, dict[str, Any]]]] = [
    ("nothing changes", "passthrough", {}),
    ("another mode", "passthrough", {"mode": "vgpu", "profile": "x"}),
    ("another mode back", "vgpu", {"mode": "passthrough", "profile": ABSENT}),
    ("another mode without what it needs", "passthrough", {"mode": "vgpu"}),
    ("no mode", "passthrough", {"mode": ABSENT}),
    ("an unknown mode", "passthrough", {"mode": "dra"}),
    ("another model", "passthrough", {"model": "H100"}),
    ("an empty model", "passthrough", {"model": ""}),
    ("another resource", "passthrough", {"source": {"devicePlugin": {"resourceName": "amd.com/gpu"}}}),
    ("a budget as a resource", "passthrough", {"source": {"devicePlugin": {"resourceName": "gpu.cozystack.io/a"}}}),
    ("no source", "passthrough", {"source": {}}),
    ("no tolerations", "vgpu", {"tolerations": ABSENT}),
    ("emptied tolerations", "vgpu", {"tolerations": []}),
    ("a bad toleration", "vgpu", {"tolerations": [{"operator": "Equal"}]}),
    ("no profile", "vgpu", {"profile": ABSENT}),
    ("another profile", "vgpu", {"profile": "L40S-48Q"}),
    ("a count of none", "vgpu", {"maxCount": 0}),
    ("an unknown field", "vgpu", {"extra": 1}),
    ("onCordon left out", "vgpu", {"onCordon": ABSENT}),
    ("nodeSelector to null", "vgpu", {"nodeSelector": None}),
]  # fmt: skip
