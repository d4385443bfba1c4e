"""Tables of captures, runs, their collectors and upload addresses."""
