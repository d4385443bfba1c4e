"""How a person looks into a profile: changed stacks, callers and callees, paths, missing names."""
