"""Packages that only some commands need."""

import importlib
import sys


def need(module, what):
    """The module; without its package the program ends with exit code 2 and the way to install it."""
    try:
        return importlib.import_module(module)
    except ImportError:
        package = module.split(".", 1)[0]
        print(f"dsshards: {what} needs {package}: pip install {package}", file=sys.stderr)
        sys.exit(2)
