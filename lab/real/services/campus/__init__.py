"""Services of a campus: enrolments, courses, timetables, marks and notes."""
