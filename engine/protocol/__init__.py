"""The wire protocol and the stored formats: commands, headers, bodies, messages, ids. Pure functions and data,
no I/O.
"""
