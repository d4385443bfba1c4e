"""Jobs that build the instructions of single functions, and fetch their code from hosts."""
