"""Loop constraints that can never matter, found and left out: the theorem and its reduction.

Read in the order of Müller (2014): ``reduce`` closes the model, ``coupled`` goes through the
components of its loops and certifies them, ``block`` through graph and loops of each, ``cuts`` has
motion algebras, Δ and the rows, ``mobility`` the rank. Several loops add ``closed_part`` on
``propagation``. The other modules serve special mechanisms.
"""
