"""Companies of a coast: weather for sailors, films of divers, a lighthouse, buoys and boats for rent."""
