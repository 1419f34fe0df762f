"""The large programs that this folder compares with are installed."""

import importlib

import pytest


@pytest.mark.parametrize("name", ["crocoddyl", "newton", "pydrake.multibody.plant"])
def test_peer_is_installed(name):
    assert importlib.import_module(name)
