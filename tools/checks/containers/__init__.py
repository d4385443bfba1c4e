"""Build the container image, run its roles, and check the Helm chart, without a container engine."""
