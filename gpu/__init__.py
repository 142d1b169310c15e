"""The pure model of GPU offers, orders and holds.

What belongs here: the three kinds and the Kubernetes objects they depend on, who serves a class, what is free, whether an
order fits and why not, where to place it, what a tenant may hold, conditions and reasons.

What must never be here: I/O of any kind, Django, a Kubernetes client, sockets, clocks, randomness, logging. Time and
identity come in as arguments. "No" is a value (:class:`gpu.fit.Verdict`), never an exception.
"""
