"""The wing: mappers and learners of three papers. The rest of the project imports none of it."""
