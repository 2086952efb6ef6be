"""``maestro-env codesign``: find the accelerators of a grid that suit networks best."""
