"""Builders of pictures, one file each: every module has BUILDER."""
