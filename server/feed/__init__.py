"""Kafka: results in (`producer`), out to boards (`ingest`) and PostgreSQL (`persist`), bad ones aside."""
