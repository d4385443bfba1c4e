"""From findings to named causes and the next stage of a diagnosis."""
