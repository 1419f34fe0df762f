"""MBDyn models, as FreeCAD's solver reads them."""
