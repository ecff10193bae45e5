"""What answers HTTP, one file a noun; each lists its `OPERATIONS`, from which routes and OpenAPI are made."""
