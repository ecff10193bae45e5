"""Viewers' tokens: JSON web tokens that the studio's own servers sign (HS256) and that say until when.

Owns: what a token has to hold. Never does: make tokens, or know what a viewer may see: a token lets read.
Neighbours: `session` (the `auth` command), `endpoint` and `sse` (the Authorization header).
"""

import jwt

from server.errors import RankcastError, StartError
from server.settings import variable

_LEAST_BYTES = 32  # RFC 7518, section 3.2


class Tokens:
    """Checks tokens against one secret."""

    def __init__(self, secret: str) -> None:
        size = len(secret.encode())
        if size < _LEAST_BYTES:
            name = variable("token_secret")
            raise StartError(f"{name} has {size} bytes; give it {_LEAST_BYTES} or more, at random")
        self._secret = secret

    def expiry(self, token: str) -> float:
        """Return the Unix time in seconds at which the token expires; refuses with RankcastError."""
        try:
            claims = jwt.decode(token, self._secret, algorithms=["HS256"], options={"require": ["exp"]})
        except jwt.ExpiredSignatureError:
            raise RankcastError("token_expired", "the token has expired; get a fresh one") from None
        except jwt.InvalidTokenError as error:
            raise RankcastError("bad_token", f"the token is not valid: {error}") from None
        return float(claims["exp"])


def bearer(authorization: str | None) -> str | None:
    """The token in an Authorization header, None where there is none."""
    scheme, _, token = (authorization or "").partition(" ")
    return token.strip() if scheme.lower() == "bearer" and token.strip() else None
