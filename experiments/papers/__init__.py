"""The wing: commands that measure four papers. The rest of the project imports none of it."""
