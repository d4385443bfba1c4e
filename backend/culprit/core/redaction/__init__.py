"""What must not leave: found in texts, structures and names of frames, replaced by steady pseudonyms. Pure."""
