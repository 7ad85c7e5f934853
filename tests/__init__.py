"""The judge's tests; a package, so that no installed `tests` is taken for it."""
