"""All configurations of any loops: by eigenvalues, or by iteration from many starts."""

from regularize.all_configurations.finder import ConfigurationFinder, configurations
from regularize.all_configurations.table import Configurations, Evidence

__all__ = ["ConfigurationFinder", "Configurations", "Evidence", "configurations"]
