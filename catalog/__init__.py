"""The hoster's workplace: offers, nodes, stock; and the catalog of offers that everyone may look at.

What must never be here: ordering and releasing (``claims``), rules about fit or eligibility (``gpu``), Kubernetes calls other
than through ``kube.gateway``.
"""
