"""The call-assembly law: the same calls, however a server sends them."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes.core.ids import CountingIds
from hermes.models.assembly import MAX_ARGUMENTS, CallAssembler

TOOLS = {"read_file": False, "read": False, "write_file": False, "status": True}


def assemble(fragments, ending="complete", taken=()):
    assembler = CallAssembler(TOOLS, CountingIds(), taken)
    for fragment in fragments:
        assembler.feed(**fragment)
    return assembler.finish(ending)


def plain(calls):
    return [(c.tool, c.arguments, c.fault) for c in calls]


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=12),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner),
    max_leaves=6,
)


@st.composite
def wanted_calls(draw):
    count = draw(st.integers(1, 4))
    return [
        (
            draw(st.sampled_from(sorted(TOOLS))),
            {**draw(st.dictionaries(st.text(max_size=5), json_values, max_size=3)), "n": number},
        )
        for number in range(count)
    ]


def cut(draw, text):
    edges = sorted(draw(st.lists(st.integers(0, len(text)), max_size=4)))
    pieces = [text[a:b] for a, b in zip([0, *edges], [*edges, len(text)], strict=True)]
    return [p for p in pieces if p]


def fragments_of(draw, number, tool, text, *, ids, indexes, names_resent, resent):
    pieces = cut(draw, text) + (cut(draw, text) if resent else [])
    always = draw(st.booleans())
    split_name = draw(st.booleans()) and tool != "read_file"
    fragments = []
    names = [tool[:3], tool[3:]] if split_name else [tool]
    names = [name for name in names if name]
    for position, piece in enumerate([None] * len(names) + pieces):
        fragment = {"arguments": piece}
        if indexes:
            fragment["index"] = number
        if ids and (position == 0 or always or not indexes):
            fragment["id"] = f"id_{number}"
        elif draw(st.booleans()):
            fragment["id"] = ""
        if position < len(names):
            fragment["name"] = names[position]
        elif names_resent and not split_name:
            fragment["name"] = tool
        fragments.append(fragment)
    return fragments


@given(data=st.data(), calls=wanted_calls())
def test_any_split_order_and_resend_gives_the_same_calls(data, calls):
    draw = data.draw
    ids, indexes = draw(st.booleans()), draw(st.booleans())
    options = {
        "ids": ids,
        "indexes": indexes,
        "names_resent": draw(st.booleans()),
        "resent": draw(st.booleans()),
    }
    rows = [
        fragments_of(draw, number, tool, json.dumps(arguments), **options)
        for number, (tool, arguments) in enumerate(calls)
    ]
    stream = []
    if ids or indexes:
        while any(rows):
            number = draw(st.sampled_from([i for i, row in enumerate(rows) if row]))
            stream.append(rows[number].pop(0))
    else:
        stream = [fragment for row in rows for fragment in row]
    made = assemble(stream)
    assert all(call.fault is None and call.id for call in made)
    assert len({call.id for call in made}) == len(made)
    seen = [(call.tool, json.loads(call.arguments)) for call in made]
    in_order = seen if indexes or not ids else sorted(seen, key=lambda call: call[1]["n"])
    assert in_order == calls


@given(
    st.lists(
        st.fixed_dictionaries(
            {},
            optional={
                "id": st.none() | st.sampled_from(["", "a", "b"]) | st.integers(0, 2),
                "index": st.none() | st.integers(0, 2) | st.just("0"),
                "name": st.none() | st.sampled_from(["", "read_file", "status", "x", "\ud83d"]),
                "arguments": st.none()
                | st.sampled_from(['{"a":1}', "{", "}", "", "null", "\ud83d", '{"b":[', "{}"])
                | st.just({"a": 1})
                | st.just([1]),
            },
        ),
        max_size=8,
    ),
    st.sampled_from(["complete", "cut", "dropped"]),
)
def test_no_stream_breaks_the_assembler_and_good_calls_hold_an_object(stream, ending):
    calls = assemble(stream, ending, taken={"a"})
    ids = [call.id for call in calls]
    assert all(ids) and len(set(ids)) == len(ids) and "a" not in ids
    for call in calls:
        call.arguments.encode()
        assert call.tool
        if call.fault is None:
            assert isinstance(json.loads(call.arguments), dict)


def test_a_name_and_arguments_sent_twice_are_one_call():
    again = {"index": 0, "name": "read_file", "arguments": '{"a":1}'}
    assert plain(assemble([again, again])) == [("read_file", '{"a":1}', None)]


def test_two_ids_on_one_index_are_two_calls():
    calls = assemble(
        [
            {"index": 0, "id": "x", "name": "read_file", "arguments": '{"path":"a"}'},
            {"index": 0, "id": "y", "name": "read_file", "arguments": '{"path":"b"}'},
        ]
    )
    assert [(c.id, c.arguments) for c in calls] == [("x", '{"path":"a"}'), ("y", '{"path":"b"}')]


def test_a_complete_object_closes_a_call_that_nothing_else_names():
    calls = assemble([{"name": "read_file", "arguments": '{"n":1}{"n":2}'}])
    assert plain(calls) == [("read_file", '{"n":1}', None), ("read_file", '{"n":2}', None)]


def test_two_different_objects_under_one_id_are_refused():
    calls = assemble([{"id": "x", "name": "read_file", "arguments": '{"n":1}{"n":2}'}])
    assert plain(calls) == [("read_file", '{"n":1}{"n":2}', "malformed")]


def test_growing_snapshots_are_one_call():
    texts = ['{"pa', '{"path":"a', '{"path":"a"}']
    calls = assemble([{"index": 0, "id": "x", "name": "read_file", "arguments": t} for t in texts])
    assert plain(calls) == [("read_file", '{"path":"a"}', None)]


def test_nested_text_that_looks_like_a_snapshot_is_kept_whole():
    texts = ['{"a":', '{"a":1}', "}"]
    calls = assemble([{"index": 0, "id": "x", "name": "read_file", "arguments": t} for t in texts])
    assert plain(calls) == [("read_file", '{"a":{"a":1}}', None)]


def test_an_empty_placeholder_before_the_arguments_is_dropped():
    calls = assemble(
        [
            {"index": 0, "id": "x", "name": "read_file", "arguments": "{}"},
            {"index": 0, "arguments": '{"path":"a"}'},
        ]
    )
    assert plain(calls) == [("read_file", '{"path":"a"}', None)]


def test_a_server_that_makes_up_an_id_for_each_fragment_makes_one_call():
    calls = assemble(
        [
            {"index": 0, "id": "a", "name": "read_file", "arguments": '{"path'},
            {"index": 0, "id": "b", "arguments": '":"a"}'},
        ]
    )
    assert plain(calls) == [("read_file", '{"path":"a"}', None)]


def test_object_valued_arguments_are_accepted():
    calls = assemble([{"index": 0, "id": "x", "name": "read_file", "arguments": {"path": "ä"}}])
    assert plain(calls) == [("read_file", '{"path":"ä"}', None)]


def test_ids_given_twice_or_used_before_become_unique_and_stay_the_same_on_replay():
    stream = [
        {"index": 0, "id": "x", "name": "read_file", "arguments": '{"n":1}'},
        {"index": 1, "id": "x", "name": "read_file", "arguments": '{"n":2}'},
    ]
    ids = [call.id for call in assemble(stream, taken={"x"})]
    assert ids == ["x_2", "x_3"] == [call.id for call in assemble(stream, taken={"x"})]


@pytest.mark.parametrize("ending", ["cut", "dropped"])
def test_incomplete_arguments_keep_the_reason(ending):
    calls = assemble(
        [{"index": 0, "id": "x", "name": "write_file", "arguments": '{"path":"a'}], ending
    )
    assert plain(calls) == [("write_file", '{"path":"a', ending)]


def test_a_call_without_a_name_is_answered_and_not_run():
    assert plain(assemble([{"index": 0, "arguments": "{}"}])) == [("unnamed", "{}", "malformed")]


def test_ten_megabytes_of_arguments_arrive_whole():
    text = json.dumps({"path": "a", "content": "x" * 10_000_000})
    stream = [{"index": 0, "id": "x", "name": "write_file"}]
    stream += [{"index": 0, "arguments": text[i : i + 4096]} for i in range(0, len(text), 4096)]
    assert plain(assemble(stream)) == [("write_file", text, None)]


def test_arguments_without_end_are_cut_off_and_refused():
    piece = "x" * (MAX_ARGUMENTS // 4)
    stream = [{"index": 0, "id": "x", "name": "write_file", "arguments": '{"content":"'}]
    calls = assemble(stream + [{"index": 0, "arguments": piece}] * 5)
    assert [call.fault for call in calls] == ["too_long"]
    assert len(calls[0].arguments) < 10_000
