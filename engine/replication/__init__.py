"""Copies of a broker's data on other machines."""
