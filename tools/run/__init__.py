"""``make run``: every process of the demo on one machine, started, watched and stopped together.

What belongs here: which processes there are and in which order they start (stack), where they listen (addresses), keeping them
alive (children, supervisor).

What must never be here: anything that production needs. There the same processes are started by the cluster.
"""
