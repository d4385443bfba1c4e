"""Profiles: where time went, as trees and tables, and how two of them differ."""
