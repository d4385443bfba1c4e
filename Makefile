# Short names for `./culprit`, which does everything. `make` lists them.
.DEFAULT_GOAL := help
.PHONY: help up down check test full client messages pages bench

help: ## list the targets
	@grep -hE '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 12

up: ## start the platform on this machine
	./culprit up

down: ## stop it
	./culprit down

check: ## format, lint, types, layers, containers, the native reader and the frontend, without engines and hosts
	./culprit test --only format --only lint --only types --only layers --only containers --only native --only frontend

test: ## everything that CI runs; PATHS='FILE ...' runs single test files
	./culprit test $(PATHS)

full: ## the slow tests too, and docs/status.md
	./culprit test --full

client: ## generate the API types of the frontend, and the roles of its mock API, from the server
	cd frontend && npm run client

messages: ## write the messages of the server and the type of all interface texts for the frontend
	PYTHONPATH=backend:. .venv/bin/python -m culprit.domain.messages
	cd frontend && npm run texts

pages: ## generate docs/rules.md and docs/causes.md
	PYTHONPATH=backend:. .venv/bin/python -m tools.docs.rules_and_causes

bench: ## NAME=cost ARGS='--pairs 2' measures one thing; without NAME a list
	./culprit bench $(NAME) $(ARGS)
