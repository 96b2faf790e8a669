"""The verbs of `datamill analyze`, for tables in memory as well: data in, an analysis out that can be read,
drawn and taken apart.
"""
