"""Lists of hosts that people already have, read into candidates. Pure: nothing is resolved or contacted."""
