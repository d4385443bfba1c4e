"""Exploration of a profile: stack transforms, callers and callees, paths, frames without symbols."""
