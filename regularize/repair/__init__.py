"""What a model needs to be mended: forces, what was meant, changes, and files written."""
