"""Command `./culprit doctor`: what is wrong with this installation, and what repairs it."""
