"""What an executor costs at another batch size, beside its first bind."""
