"""Diagnoses: captures in stages that name a cause."""
