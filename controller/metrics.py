"""What the controller counts, for Prometheus."""

from __future__ import annotations

from typing import Final

from prometheus_client import Counter, Gauge, Histogram

ORDERS: Final = Counter("gpu_portal_orders", "Orders judged at admission, by answer.", ["answer"])
ADMISSION_SECONDS: Final = Histogram(
    "gpu_portal_admission_seconds",
    "Time to answer one admission review.",
    buckets=(0.0001, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.05, 0.25, 1.0),
)
BINDS: Final = Counter("gpu_portal_binds", "Claims written as bound to a node.")
LANE_FAILURES: Final = Counter(
    "gpu_portal_write_failures", "Looks at an object that failed and run again.", ["lane"]
)
LEADING: Final = Gauge("gpu_portal_leading", "1 while this process holds the lease.")
SYNCED: Final = Gauge("gpu_portal_synced", "1 while the ledger has a full and fresh picture.")
RESERVATIONS_EXPIRED: Final = Counter(
    "gpu_portal_reservations_expired", "Admitted orders that never arrived."
)
