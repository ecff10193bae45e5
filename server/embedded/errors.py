"""The one way in which embedded services fail."""


class EmbeddedError(RuntimeError):
    """An embedded service could not be found, started or kept; the text is one line for a person."""
