"""Why a mapping costs what it does."""
