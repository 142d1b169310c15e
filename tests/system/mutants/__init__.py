"""Seeded bugs: each is one textual change of the product, and the suite has to notice every single one.

The product carries no switch for them. A change whose text is not found exactly once fails loudly: then the code has moved on and
the mutant has to follow.
"""
