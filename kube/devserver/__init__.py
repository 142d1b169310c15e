"""A small Kubernetes API server for demo and tests: the same wire, one process, one SQLite file, loopback only.

It evaluates the CRDs of ``deploy/crds`` from their YAML (schema, defaults, pruning, CEL) and is held to a real kube-apiserver
by one contract suite, ``tests/kube/test_contract*.py``. A difference is a bug here, save these, which are on purpose:

- nobody schedules, runs, collects or terminates anything: a deleted pod is gone at once, owned objects outlive their owner; a
  deleted namespace does take its content along;
- the only quotas that are enforced are ``count/...``, by what their spec says; built-in kinds have light schemas;
- server-side apply sets what it names and owns nothing: it neither conflicts nor removes;
- nobody is anonymous: without a token only health and version answer;
- rules of a CRD are checked for syntax when it is created, for types only when they are evaluated; they have no cost limit.

A request goes ``app`` -> ``reading``, ``watching``, ``writing``, ``removing`` or ``reviews`` -> ``state`` -> ``store``.

What must never be here: anything that knows what a GPU is.
"""
