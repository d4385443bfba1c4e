"""Chunks of time series, coarser steps, tracks of the timeline and typical ranges."""
