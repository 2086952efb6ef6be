"""Problems to learn from and problems held out, with their proven optima."""
