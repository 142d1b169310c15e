"""A small Kubernetes API server for demo and tests: the same wire, one process, one SQLite file, loopback only.

It evaluates the CRDs of ``deploy/crds`` from their YAML (schema, defaults, pruning, CEL) and is held to a real kube-apiserver
by one contract suite, ``tests/kube/test_contract.py``. A difference is a bug here.

What must never be here: anything that knows what a GPU is.
"""
