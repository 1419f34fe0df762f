"""Which loop constraints can never matter: motion spaces, reduced rows, mobility, certificate."""
