"""Loop constraints that can never matter, found and left out: the theorem and its reduction.

Read in the order of Müller (2014): ``reduce`` closes the model, ``coupled`` goes through the
components of its loops, ``block`` through graph and loops of each, ``one_loop`` has motion algebras
and Δ, ``cuts`` the rows, ``mobility`` the rank, ``certificate`` the check by walking. Several loops
add ``closed_part`` on ``propagation`` and ``motion_spaces``; ``small`` is all of this on one page.
The other modules serve special mechanisms.
"""
