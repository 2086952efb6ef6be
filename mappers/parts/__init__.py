"""What mappers and learners share."""
