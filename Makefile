# `./culprit` does everything; these are the usual names for it.
.PHONY: up down check test full bench

up:
	./culprit up

down:
	./culprit down

check:
	./culprit test --only format --only lint --only types --only walls --only containers --only frontend

test:
	./culprit test

full:
	./culprit test --full

# make bench lists what can be measured; make bench NAME=cost ARGS='--pairs 2' measures it.
bench:
	./culprit bench $(NAME) $(ARGS)
