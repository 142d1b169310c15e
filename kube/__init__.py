"""The one room that speaks to Kubernetes.

What belongs here: connecting (:mod:`kube.config`), reading and writing as the service or as a user (:mod:`kube.gateway`
for threads, :mod:`kube.aio` for an event loop), list-then-watch (:mod:`kube.watching`), and the errors that come back
(:mod:`kube.errors`). :mod:`kube.devserver` is the other end of the same wire.

What must never be here: decisions about GPUs (they live in ``gpu``), Django, Celery. No type of the client library leaves
this package.
"""
