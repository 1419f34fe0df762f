"""All configurations of a loop of six elementary motions by eigenvalues, each with a proof."""
