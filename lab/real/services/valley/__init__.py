"""Companies of a valley: maps, a winery, a concert hall, tutors and a nursery for plants."""
