"""The glossary: one term for each thing, in English and Chinese, and the other names by which people look for it.

The terms are data, ``tutorials/glossary.yaml``. ``/glossary`` shows them, docs/glossary.md is generated from them, and
the searches of ``/lab`` and ``/tutorials`` find a scenario or a lesson by every name of a term that it uses.
"""
