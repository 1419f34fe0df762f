"""Adds the command to the toolbar and the menu of the Assembly workbench."""

import FreeCADGui
import regularize_task


class AssemblyEntries:
    """Entries in what the Assembly workbench has."""

    def modifyToolBars(self):
        """Return the place in the toolbars."""
        return [{"append": "Regularize_Check", "toolBar": "Assembly"}]

    def modifyMenuBar(self):
        """Return the place in the menus."""
        return [{"append": "Regularize_Check", "menuItem": "Assembly_SolveAssembly"}]


FreeCADGui.addCommand("Regularize_Check", regularize_task.Check())
FreeCADGui.addWorkbenchManipulator(AssemblyEntries())
