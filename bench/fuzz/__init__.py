"""Coverage-guided fuzzing of every parser and importer of untrusted bytes."""
