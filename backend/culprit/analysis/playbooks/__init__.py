"""The playbook catalog of the API, and dry runs of a playbook on a run."""
