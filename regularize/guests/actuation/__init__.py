"""Maps from motors to the joints that they drive through closed loops, and what is made of them."""
