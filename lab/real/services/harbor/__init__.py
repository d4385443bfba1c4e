"""Companies of a harbor: podcasts, a stationer, a mover, a ski resort and a maker of paints."""
