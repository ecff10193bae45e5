"""What makes a log this log: the identity that a topic keeps from its creation to its deletion.

Owns: the value and its equality. Never does: ask a broker (`feed/identity.py`) or number logs (`archive`).
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class LogIdentity:
    """Cluster id, topic name and topic id (32 hexadecimal digits; "" where the broker has no topic ids).

    Two logs are the same one exactly when all three are equal; where a log starts or ends says nothing.
    """

    cluster_id: str
    topic: str
    topic_id: str
