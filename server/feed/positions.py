"""Where the boards of one partition stand, and where to read next when they do not all stand at one place.

A partition has one reader and many boards. Mostly all boards are where the reader is. One that fell behind
(Redis went back, it waited for PostgreSQL, it was rebuilt) is served from its own place again, in turns with
those in front, who skip what they have; one that has to wait is left alone for a while and holds up nobody.

Pure: no I/O, and time is handed in (seconds of any steady clock).
Neighbours: `ingest.py` steers its reader by this, `apply.py` does the work in between.
"""

from dataclasses import dataclass, field

TURN_SECONDS = 0.25
FIRST_WAIT_SECONDS = 0.05
LONGEST_WAIT_SECONDS = 2.0


@dataclass(slots=True)
class Place:
    """One board's place: `applied` as Redis said last, `expected` once what is under way has been applied."""

    applied: int
    expected: int
    moved_at: float
    held_until: float = 0.0
    waits: int = 0


@dataclass(slots=True)
class Partition:
    """The boards of one partition by season id, and the turn between those behind and those in front."""

    places: dict[int, Place] = field(default_factory=dict)
    turn_ends: float = 0.0

    def open(self, season_id: int, applied: int, now: float) -> None:
        """Take a board in, at the place that Redis named."""
        self.places[season_id] = Place(applied, applied, now)

    def next_read(self, reading: int, end: int | None, now: float) -> int | None:
        """Where to read now, given where the reader is and where the log ends (None: not known).

        None: no board wants anything at present.
        """
        ready = [place.expected for place in self.places.values() if place.held_until <= now]
        if not ready:
            return None
        lowest, front = min(ready), max(ready)
        if lowest == front:
            return lowest
        more_in_front = end is None or front < end
        if reading == front and more_in_front and now < self.turn_ends:
            return front
        if reading != front and more_in_front and now >= self.turn_ends:
            self.turn_ends = now + TURN_SECONDS
            return front
        if reading == front:
            self.turn_ends = now + TURN_SECONDS
        return lowest

    def served(self, start: int, end: int, now: float) -> list[int]:
        """Boards that a read of the range `start` to `end` is for: at its start or in it, and not held."""
        return [
            season_id
            for season_id, place in self.places.items()
            if start <= place.expected < end and place.held_until <= now
        ]

    def idle(self, now: float, every: float) -> list[int]:
        """Boards whose `applied` has to move though they get nothing, since the last move was `every` ago."""
        return [
            season_id
            for season_id, place in self.places.items()
            if place.moved_at + every <= now and place.held_until <= now and place.expected == place.applied
        ]

    def under_way(self, season_id: int, end: int) -> None:
        """A call up to `end` has been made for the board."""
        place = self.places[season_id]
        place.expected = max(place.expected, end)

    def done(self, season_id: int, applied: int, now: float) -> None:
        """The board has taken all that it was given."""
        place = self.places.get(season_id)
        if place is not None:
            place.applied, place.moved_at, place.waits = applied, now, 0
            place.expected = max(place.expected, applied)

    def back(self, season_id: int, applied: int) -> None:
        """The board stands at `applied`, before what it was given: it is read from there."""
        place = self.places.get(season_id)
        if place is not None:
            place.applied = place.expected = applied

    def wait(self, season_id: int, applied: int, now: float, jitter: float) -> None:
        """The board has to wait at `applied`, longer each time; `jitter` is a random number from 0 to 1."""
        place = self.places.get(season_id)
        if place is not None:
            longest = min(LONGEST_WAIT_SECONDS, FIRST_WAIT_SECONDS * 2**place.waits)
            place.waits = min(place.waits + 1, 16)
            place.held_until = now + longest * (0.5 + jitter / 2)
            place.applied = place.expected = applied

    def lose(self, season_id: int) -> None:
        """The board takes nothing until it has been rebuilt."""
        self.places.pop(season_id, None)

    def applied(self) -> int | None:
        """Up to where every open board has everything; None without boards."""
        return min((place.applied for place in self.places.values()), default=None)
