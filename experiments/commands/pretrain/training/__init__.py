"""Makes labels of training problems, and trains a prior."""
