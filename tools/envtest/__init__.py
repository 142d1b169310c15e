"""A real Kubernetes API server on loopback, for tests and for ``make run CLUSTER=real``.

What belongs here: building kube-apiserver, etcd and their companions from Go modules (build), and running them on one machine
(plane, __main__).

What must never be here: anything that a cluster in use would need, and any way around what the API server itself decides.
"""
