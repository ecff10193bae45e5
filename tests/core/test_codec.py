"""The score codec: exact, ordered, and closed at every end of its range (cases A1, A2, A3)."""

from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from server.core.codec import MAX_SCORE, OutOfRange, ScoreCodec, score_from_wire

DEFAULT = ScoreCodec(21, 32, 0, 1_000_000)
TICKS_US = st.sampled_from([1_000, 100_000, 1_000_000, 300_000_000, 3_600_000_000, 86_400_000_000])


@dataclass(frozen=True)
class Sample:
    """A codec, and what fits into it."""

    codec: ScoreCodec
    points: int
    achieved_us: int


@st.composite
def codecs(draw: st.DrawFn) -> ScoreCodec:
    points_bits = draw(st.integers(1, 31))
    time_bits = draw(st.integers(0, min(40, 53 - points_bits)))
    starts_us = draw(st.integers(-(10**16), 10**16))
    return ScoreCodec(points_bits, time_bits, starts_us, draw(TICKS_US))


@st.composite
def samples(draw: st.DrawFn) -> Sample:
    codec = draw(codecs())
    span_us = (codec.max_ticks + 1) * codec.tick_us
    since_us = draw(st.integers(0, span_us - 1))
    return Sample(codec, draw(st.integers(0, codec.max_points)), codec.starts_us + since_us)


@given(samples())
def test_a_score_decodes_to_its_points_and_the_start_of_its_tick(sample: Sample) -> None:
    codec = sample.codec
    points, achieved_ms = codec.decode(codec.encode(sample.points, sample.achieved_us))
    assert points == sample.points
    assert achieved_ms == codec.tick_start_us(sample.achieved_us) // 1000
    assert 0 <= sample.achieved_us - codec.tick_start_us(sample.achieved_us) < codec.tick_us


@given(samples(), st.data())
def test_scores_order_by_points_and_then_by_the_earlier_tick(sample: Sample, data: st.DataObject) -> None:
    codec = sample.codec
    span_us = (codec.max_ticks + 1) * codec.tick_us
    points = data.draw(st.integers(0, codec.max_points) | st.just(sample.points))
    achieved_us = codec.starts_us + data.draw(st.integers(0, span_us - 1))
    mine = (sample.points, -codec.ticks(sample.achieved_us))
    other = (points, -codec.ticks(achieved_us))
    mine_score, other_score = (
        codec.encode(sample.points, sample.achieved_us),
        codec.encode(points, achieved_us),
    )
    assert (mine_score > other_score) == (mine > other)
    assert (mine_score == other_score) == (mine == other)


@given(samples())
def test_every_score_is_an_integer_that_a_double_holds(sample: Sample) -> None:
    score = sample.codec.encode(sample.points, sample.achieved_us)
    assert 0 <= score <= MAX_SCORE
    assert int(float(score)) == score


@given(codecs())
def test_one_past_every_limit_is_refused(codec: ScoreCodec) -> None:
    last_us = codec.starts_us + codec.max_ticks * codec.tick_us + codec.tick_us - 1
    assert (
        codec.encode(codec.max_points, codec.starts_us)
        == (codec.max_points << codec.time_bits) + codec.max_ticks
    )
    assert codec.encode(0, last_us) == 0
    for points, achieved_us, code in (
        (codec.max_points + 1, codec.starts_us, "points_too_high"),
        (-1, codec.starts_us, "points_negative"),
        (0, last_us + 1, "after_season"),
        (0, codec.starts_us - 1, "before_season"),
    ):
        with pytest.raises(OutOfRange) as refused:
            codec.encode(points, achieved_us)
        assert refused.value.code == code


@given(codecs())
def test_a_score_of_more_bits_is_not_decoded(codec: ScoreCodec) -> None:
    for score in (-1, 1 << (codec.points_bits + codec.time_bits)):
        with pytest.raises(OutOfRange) as refused:
            codec.decode(score)
        assert refused.value.code == "score_out_of_range"


def test_the_default_split_holds_2097151_points_and_ends_at_2_to_the_53() -> None:
    assert DEFAULT.max_points == 2_097_151
    assert DEFAULT.encode(2_097_151, 0) == MAX_SCORE


@given(codecs(), st.lists(st.tuples(st.integers(0), st.integers(0)), min_size=1, max_size=20))
def test_many_scores_decode_as_each_of_them(codec: ScoreCodec, seeds: list[tuple[int, int]]) -> None:
    scores = [
        (points % (codec.max_points + 1)) << codec.time_bits | (ticks % (codec.max_ticks + 1))
        for points, ticks in seeds
    ]
    # int64 is enough for every instant of a season, which lies in the years 0001 to 9999
    codec = ScoreCodec(codec.points_bits, codec.time_bits, codec.starts_us, 1_000)
    points, achieved_ms = codec.decode_many(np.array(scores, np.int64))
    assert list(zip(points.tolist(), achieved_ms.tolist(), strict=True)) == [
        codec.decode(score) for score in scores
    ]


@pytest.mark.parametrize(
    "value",
    [b"9007199254740991", "9007199254740991", 9007199254740991, 9007199254740991.0, "9.007199254740991e+15"],
)
def test_the_greatest_score_is_read_exactly_in_every_spelling(value: bytes | str | int | float) -> None:  # A3
    assert score_from_wire(value) == MAX_SCORE


@given(st.integers(0, MAX_SCORE))
def test_every_score_survives_every_spelling(score: int) -> None:  # A2, A3
    for spelling in (score, str(score), str(score).encode(), float(score), f"{float(score):.17g}"):
        assert score_from_wire(spelling) == score


@pytest.mark.parametrize(
    "value",
    [
        "1e+16",
        b"9007199254740992",
        9007199254740992.0,
        "inf",
        "-inf",
        "nan",
        "1.5",
        1.5,
        float("inf"),
        float("nan"),
        *[
            -1,
            "-1",
            "-0",
            "+1",
            "1_0",
            " 1",
            "1 ",
            "",
            "0x1",
            "\u0661",
            b"\xff",
            True,
            "01",
            "1e",
            "1e400",
            "5e-1",
        ],
    ],
)
def test_what_is_no_exact_score_is_refused_loudly(value: bytes | str | int | float) -> None:  # A3
    with pytest.raises(OutOfRange) as refused:
        score_from_wire(value)
    assert refused.value.code == "score_out_of_range"
