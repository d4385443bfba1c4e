"""Tables of evaluations, findings, mutes, thresholds, diagnoses and outcomes of causes."""
