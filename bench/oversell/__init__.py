"""Is a unit ever sold twice? Load on a whole cluster, and a checker that believes nobody but the API server.

What belongs here: the load, a plain model of the rules written a second time from the design, the checks after every event, the
figures. What must never be here: a rule borrowed from ``gpu``, or the watch of ``kube``: a mistake there would hide itself.
"""
