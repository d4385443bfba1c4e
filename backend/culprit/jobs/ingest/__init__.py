"""Jobs that store parsed output, fetch service metrics, and build profiles and comparisons."""
