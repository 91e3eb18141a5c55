"""Drop-in modules for other SimHash packages: the same names, values and quirks.

- :mod:`lookalike.compat.simhash` for PyPI ``simhash``
- :mod:`lookalike.compat.simhash_py` for seomoz' ``simhash`` (``simhash-py``)

Change the import, and nothing else. Their fingerprints are not lookalike's: never compare the two.
"""
