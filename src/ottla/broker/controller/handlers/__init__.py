"""APIs that only controllers serve, one module per API, named after its key as those of brokers are."""
