"""All ways to assemble a mechanism: formulas, eigenvalues, iteration."""
