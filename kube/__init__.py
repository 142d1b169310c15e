"""The one room that speaks to Kubernetes.

What belongs here: connecting (:mod:`kube.config`), reading and writing as the service or as a user (:mod:`kube.gateway`
for threads, :mod:`kube.aio` for an event loop), list-then-watch (:mod:`kube.watching`), the errors that come back
(:mod:`kube.errors`), and the certificates of our own servers (:mod:`kube.certificates`). :mod:`kube.devserver` is the other end of the
same wire.

Both gateways are thin: :mod:`kube.calls` says what a verb is on the wire, :mod:`kube.answers` and :mod:`kube.statuses` what an answer
means, :mod:`kube.transport` (threads) and :mod:`kube.sessions` (event loop) only carry bytes.

What must never be here: decisions about GPUs (they live in ``gpu``), Django, Celery. No type of the client library leaves
this package.
"""
