"""Export incidents with their evidence, and import them into another Culprit."""
