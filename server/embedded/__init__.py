"""Valkey, PostgreSQL and a Kafka-protocol broker as child processes, for `make run` and the tests."""
