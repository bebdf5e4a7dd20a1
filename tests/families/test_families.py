"""Which test answers for which reported fault.

`cases/bugs.jsonl` holds the reports of the families that concern rooms that exist; each names the
tests that keep it from coming back.
"""

import ast
import json
from functools import cache
from pathlib import Path
from typing import Final

import pytest

TESTS: Final = Path(__file__).parent.parent
ROWS: Final = [
    json.loads(line)
    for line in (TESTS / "cases" / "bugs.jsonl").read_text(encoding="utf-8").splitlines()
]

REPLIES = "families/test_reply_kinds.py"
WAITS = "families/test_stall_and_stop_kinds.py"
COMMANDS = "families/test_command_kinds.py"
HISTORY = "families/test_history_kinds.py"
TEXTS = "families/test_text_kinds.py"
MONEY = "families/test_money_loop_and_growth_kinds.py"
HOOKS = "families/test_hook_kinds.py"
KEPT = "families/test_kept_session_kinds.py"
BACKEND = "contract/test_terminal_backend.py"
STORE_FILE = "stores/test_store_file.py"
STORE_CRASHES = "stores/test_store_crashes.py"
CONFIG_LOAD = "system/test_config_load.py"
CONFIG_EDIT = "system/test_config_edit.py"
ONESHOT = "surfaces/test_oneshot.py"

MISHAPS = f"{HISTORY}::test_after_any_series_of_mishaps_the_next_turn_is_taken"
PREFIX = f"{HISTORY}::test_a_prefix_survives_a_clock_a_restart_and_edits_of_what_it_was_made_from"
SHAPES = f"{REPLIES}::test_a_stream_in_any_shape_runs_each_call_once"
BLANKS = f"{REPLIES}::test_blank_replies_are_asked_for_again_each_time_otherwise_then_told"
REASONING = f"{REPLIES}::test_reasoning_reaches_no_sink_but_its_own"
REPEATS = f"{MONEY}::test_the_same_step_again_and_again_is_told_and_then_ended"
METER = f"{MONEY}::test_the_meter_keeps_every_call_whole_and_the_sums_agree"
SINKS = f"{TEXTS}::test_odd_text_passes_every_sink_of_the_loop_and_the_session_opens_again"
RETURNS = f"{COMMANDS}::test_a_command_returns_when_its_shell_does_and_waits_for_nobody"

COVERED: Final[dict[str, tuple[str, ...]]] = {
    # cache
    "B188": (f"{HISTORY}::test_a_model_keeps_its_prefix_over_a_switch_and_back",),
    "B189": (
        PREFIX,
        "agent/test_sessions.py::test_a_resumed_session_sends_the_very_bytes_it_sent_before",
    ),
    "B191": (f"{HISTORY}::test_what_changes_stands_behind_what_was_sent", MISHAPS),
    # history-shape
    "B112": (REPEATS, MISHAPS),
    "B113": (MISHAPS, f"{HISTORY}::test_after_each_mishap_the_next_turn_is_taken"),
    "B114": (f"{HISTORY}::test_after_each_mishap_the_next_turn_is_taken", MISHAPS),
    "B115": (f"{HISTORY}::test_three_quick_messages_are_each_answered_and_none_is_merged",),
    "B180": (
        f"{HISTORY}::test_a_400_is_a_fault_of_the_request_and_the_next_turn_is_asked_as_ever",
    ),
    "B183": (MISHAPS, f"{HISTORY}::test_after_each_mishap_the_next_turn_is_taken"),
    "B185": (f"{KEPT}::test_a_command_that_ends_hermes_itself_is_not_run_again",),
    # call-assembly
    "B074": (
        SHAPES,
        "models/test_call_assembly.py::test_any_split_order_and_resend_gives_the_same_calls",
    ),
    "B075": (SHAPES,),
    "B077": (f"{REPLIES}::test_four_calls_with_two_kinds_of_ids_are_all_answered_under_one",),
    "B079": (
        f"{REPLIES}::test_a_call_that_comes_as_text_is_run_and_never_shown_as_the_answer",
        f"{REPLIES}::test_a_text_that_speaks_of_calls_is_an_answer",
    ),
    # partial-call
    "B067": (
        f"{REPLIES}::test_arguments_with_one_reading_are_repaired_and_run",
        f"{REPLIES}::test_arguments_without_one_reading_are_answered_and_never_emptied",
    ),
    "B068": (
        "agent/test_turn.py::test_cut_calls_are_answered_never_run_and_end_the_turn_when_they_repeat",
    ),
    "B070": (f"{REPLIES}::test_a_connection_lost_in_a_call_is_asked_again_in_the_same_bytes",),
    "B071": (
        f"{REPLIES}::test_a_connection_lost_in_a_call_is_asked_again_in_the_same_bytes",
        f"{REPLIES}::test_a_connection_that_is_lost_again_and_again_is_named_as_such",
    ),
    "B072": (f"{REPLIES}::test_a_missing_finish_reason_adds_nothing_to_a_whole_answer",),
    "B073": (f"{REPLIES}::test_ten_cut_calls_with_other_bytes_each_time_still_end_the_turn",),
    # empty-reply
    "B091": (BLANKS, f"{REPLIES}::test_no_placeholder_is_printed_by_the_program"),
    "B092": (BLANKS, f"{REPLIES}::test_a_refusal_is_told_as_one_and_never_by_a_placeholder"),
    "B093": ("agent/test_turn.py::test_only_reasoning_is_shown_as_a_last_resort_and_labelled",),
    "B094": (
        f"{REPLIES}::test_blank_replies_after_tools_restate_the_results_and_then_say_what_was_done",
    ),
    # think-leak
    "B096": (REASONING,),
    "B097": (f"{REPLIES}::test_an_unclosed_block_of_reasoning_leaks_nowhere",),
    "B098": (REASONING,),
    "B100": (REASONING,),
    # stall
    "B147": (f"{WAITS}::test_a_silent_model_is_left_at_the_users_deadline_tools_or_not",),
    "B148": (
        f"{WAITS}::test_a_silent_model_is_left_at_the_users_deadline_tools_or_not",
        f"{WAITS}::test_an_address_that_takes_no_connection_is_left_at_the_users_deadline",
    ),
    "B149": (f"{WAITS}::test_one_deadline_covers_all_retries_of_a_turn",),
    "B150": (
        f"{WAITS}::test_no_retries_means_one_request",
        f"{WAITS}::test_the_settings_are_honoured_by_the_program",
    ),
    "B151": (f"{WAITS}::test_after_one_error_of_a_stream_the_next_request_streams_again",),
    # interrupt
    "B034": (f"{WAITS}::test_stop_ends_the_command_and_the_next_turn_knows",),
    "B035": (
        f"{WAITS}::test_stop_is_quick_while_the_model_is_asked",
        f"{WAITS}::test_stop_is_quick_while_a_tool_works_in_a_thread",
        f"{WAITS}::test_stop_is_quick_while_connecting",
    ),
    "B254": (f"{WAITS}::test_a_message_that_interrupts_is_answered_next",),
    "B353": (
        "agent/test_steering.py::test_stop_takes_waiting_messages_back",
        f"{WAITS}::test_stop_takes_back_what_the_model_has_not_read",
    ),
    "B354": (f"{COMMANDS}::test_ctrl_c_says_stopped_only_when_the_command_is_gone",),
    # cmd-hang
    "B027": (RETURNS,),
    "B029": (
        RETURNS,
        f"{BACKEND}::test_a_call_returns_when_the_shell_does_and_what_is_left_ends_with_the_session",
    ),
    "B041": (f"{BACKEND}::test_sudo_is_run_as_given",),
    "B042": (f"{COMMANDS}::test_a_piped_run_asks_nobody_and_denies_at_once",),
    "B428": (RETURNS,),
    "B429": (f"{BACKEND}::test_nothing_waits_for_a_person", RETURNS),
    "B430": (f"{COMMANDS}::test_a_time_out_is_a_result_and_the_turn_goes_on",),
    "B431": (RETURNS, f"{BACKEND}::test_silence_is_not_failure"),
    # encoding
    "B011": (f"{TEXTS}::test_a_file_is_text_whatever_its_first_block_cuts",),
    "B013": (
        f"{CONFIG_LOAD}::test_own_files_are_utf8_whatever_the_locale",
        f"{TEXTS}::test_own_files_are_utf8_under_every_locale",
    ),
    "B014": (f"{TEXTS}::test_own_files_are_utf8_under_every_locale",),
    "B144": (f"{STORE_FILE}::test_a_surrogate_that_another_program_wrote_is_read_clean", SINKS),
    "B146": (SINKS, f"{TEXTS}::test_bytes_that_are_no_text_reach_the_program_from_everywhere"),
    "B419": (f"{TEXTS}::test_a_file_of_another_encoding_ends_nothing",),
    # hooks
    "B394": (f"{HOOKS}::test_every_built_in_tool_is_announced_before_and_after_it_runs",),
    "B395": (
        f"{HOOKS}::test_a_hook_is_called_once_whatever_the_front_end",
        f"{HOOKS}::test_calls_side_by_side_are_each_judged_once",
    ),
    "B396": (
        f"{HOOKS}::test_a_veto_is_the_result_and_the_tool_does_not_run",
        f"{HOOKS}::test_a_judge_that_fails_denies_and_both_are_told",
    ),
    "B397": (f"{HOOKS}::test_a_hook_is_called_once_whatever_the_front_end",),
    # store
    "B216": (f"{KEPT}::test_readers_and_writers_of_one_home_leave_it_whole",),
    "B217": (f"{STORE_FILE}::test_a_newer_database_that_crashed_is_refused_and_its_log_kept",),
    "B218": (f"{STORE_CRASHES}::test_what_eight_killed_writers_acknowledged_is_there_once",),
    "B219": (f"{STORE_FILE}::test_a_damaged_page_stops_all_writing_and_a_copy_is_kept",),
    "B220": (
        f"{STORE_CRASHES}::test_a_dead_owner_is_taken_over_at_once_and_a_live_one_is_named",
        f"{STORE_FILE}::test_the_log_is_begun_anew_and_does_not_grow_for_ever",
    ),
    "B221": (f"{STORE_CRASHES}::test_three_hundred_short_writers_all_get_through",),
    "B235": ("agent/test_crash.py::test_a_killed_turn_is_found_whole_and_goes_on",),
    "B433": (METER,),
    "B434": (METER,),
    # lineage
    "B230": (f"{KEPT}::test_a_session_is_one_row_under_one_id_however_it_is_found",),
    "B234": (
        f"{KEPT}::test_what_was_said_before_a_kill_is_found_by_the_next_run",
        f"{KEPT}::test_a_turn_that_fails_leaves_a_session_that_goes_on",
    ),
    "B236": (f"{ONESHOT}::test_a_query_says_on_stderr_how_to_go_on",),
    # config
    "B355": (f"{CONFIG_EDIT}::test_references_stay_raw_when_another_key_is_set",),
    "B357": (f"{CONFIG_EDIT}::test_a_five_line_file_stays_small",),
    "B358": (f"{CONFIG_EDIT}::test_setting_a_key_changes_nothing_else_and_keeps_every_comment",),
    "B360": (
        f"{CONFIG_LOAD}::test_a_broken_file_is_refused_with_file_line_and_cause",
        f"{CONFIG_LOAD}::test_a_broken_file_points_to_the_last_one_that_worked",
    ),
    "B361": (f"{CONFIG_EDIT}::test_a_broken_file_is_not_edited",),
    "B363": (
        f"{CONFIG_LOAD}::test_a_wrong_type_names_line_value_and_what_would_be_right",
        f"{CONFIG_LOAD}::test_approvals_off_is_off_under_both_versions_of_yaml",
    ),
    "B364": (f"{CONFIG_LOAD}::test_false_is_false_however_it_is_spelled",),
    "B365": (f"{CONFIG_LOAD}::test_a_wrong_type_names_line_value_and_what_would_be_right",),
    # cost
    "B135": (f"{MONEY}::test_a_one_line_question_in_a_new_home_is_a_small_request",),
    "B193": (
        f"{MONEY}::test_the_input_counts_cached_tokens_once_in_every_form",
        f"{MONEY}::test_a_usage_that_comes_in_two_parts_is_put_together",
    ),
    "B194": (
        f"{MONEY}::test_what_the_program_shows_tells_cached_from_fresh_and_unknown_from_nothing",
    ),
    "B195": (METER,),
    "B196": (f"{MONEY}::test_an_unknown_cost_stays_unknown",),
    # loops
    "B152": (REPEATS,),
    "B153": (
        REPEATS,
        f"{MONEY}::test_steps_that_go_in_a_circle_are_ended",
        f"{MONEY}::test_a_shell_command_that_is_repeated_is_ended_with_its_result",
    ),
    "B154": (REPEATS,),
    "B155": (REPEATS,),
    "B156": (f"{MONEY}::test_a_turn_that_uses_up_its_steps_says_so",),
    # locks
    "B186": (f"{KEPT}::test_a_session_whose_host_fails_is_free_for_the_next",),
    # restart
    "B256": (f"{KEPT}::test_a_command_that_ends_hermes_itself_is_not_run_again",),
    "B257": (f"{KEPT}::test_a_turn_that_is_killed_three_times_never_resumes_by_itself",),
    "B258": (f"{ONESHOT}::test_a_second_process_on_one_session_is_told_who_has_it",),
    # growth
    "B408": (f"{MONEY}::test_long_sessions_are_forgotten_once_they_are_closed",),
    "B409": (f"{MONEY}::test_sixty_large_results_leave_the_memory_flat",),
    "B410": (
        "terminals/test_local_terminal.py::test_five_million_lines_take_no_memory_and_their_file_is_bounded",
        f"{MONEY}::test_a_file_of_a_gigabyte_is_read_in_little_memory",
    ),
    "B437": ("agent/test_sessions.py::test_a_thousand_turns_in_one_process_leave_its_memory_flat",),
    # api-noise
    "B438": (f"{REPLIES}::test_tool_progress_is_never_part_of_the_answer",),
    # edit-corrupts, edit-refuses, fs-views, search-zero, redaction, rollback
    "B001": ("families/test_file_kinds.py::test_an_edit_that_is_sent_five_times_is_there_once",),
    "B002": (
        "families/test_file_kinds.py::test_a_row_that_only_looks_alike_is_not_taken",
        "tools/test_matching.py::test_candidates_that_are_alike_are_listed_and_none_is_taken",
    ),
    "B004": (
        "families/test_file_kinds.py::test_escapes_never_become_two_characters_of_a_file_by_guessing",
    ),
    "B005": (
        "families/test_file_kinds.py::test_escapes_never_become_two_characters_of_a_file_by_guessing",
    ),
    "B006": (
        "families/test_file_kinds.py::test_backslashes_and_quotes_reach_the_disk_as_they_were_sent",
    ),
    "B007": ("families/test_file_kinds.py::test_a_backslash_and_r_in_a_crlf_table_is_data",),
    "B415": ("families/test_file_kinds.py::test_an_edit_of_one_line_is_a_diff_of_one_line",),
    "B416": ("families/test_file_kinds.py::test_an_edit_of_one_line_is_a_diff_of_one_line",),
    "B008": (
        "tools/test_matching.py::test_blanks_that_differ_are_made_visible",
        "families/test_file_kinds.py::test_guessing_on_one_file_is_answered_with_read_it",
    ),
    "B009": (
        "families/test_file_kinds.py::test_each_refusal_has_a_code_and_the_place_that_is_near",
    ),
    "B412": (
        "families/test_file_kinds.py::test_a_read_crlf_file_is_not_stale_however_its_path_is_spelled",
    ),
    "B413": (
        "families/test_file_kinds.py::test_a_read_crlf_file_is_not_stale_however_its_path_is_spelled",
    ),
    "B414": ("families/test_file_kinds.py::test_an_edit_of_one_line_is_a_diff_of_one_line",),
    "B418": ("families/test_file_kinds.py::test_text_without_a_last_newline_matches",),
    "B420": (
        "tools/test_v4a_hunks.py::test_a_long_hunk_with_one_drift_is_answered_with_the_lines_that_are_there",
    ),
    "B421": ("families/test_file_kinds.py::test_no_edit_takes_for_ever",),
    "B016": ("families/test_file_kinds.py::test_paths_are_of_the_session_and_home_is_the_persons",),
    "B436": ("families/test_file_kinds.py::test_paths_are_of_the_session_and_home_is_the_persons",),
    "B018": ("tools/test_search_files.py::test_a_hidden_folder_above_the_root_hides_nothing",),
    "B019": ("tools/test_search_files.py::test_a_link_that_is_named_is_followed",),
    "B020": (
        "tools/test_search_files.py::test_pages_neither_repeat_nor_skip_and_the_total_is_true",
    ),
    "B021": (
        "tools/test_search_files.py::test_one_rule_for_hidden_files_whatever_the_glob",
        "tools/test_search_files.py::test_a_broken_glob_is_an_error_and_not_an_empty_list",
    ),
    "B023": ("families/test_file_kinds.py::test_a_masked_view_is_never_written_back",),
    "B024": ("families/test_file_kinds.py::test_what_a_user_asked_to_store_is_stored_as_it_is",),
    "B403": (
        "surfaces/test_checkpoint_verbs.py::test_a_file_that_is_too_large_is_said_to_be_not_covered",
    ),
    "B404": (
        "surfaces/test_checkpoint_verbs.py::test_files_that_no_tool_changed_are_never_touched",
    ),
    "B407": (
        "surfaces/test_checkpoint_verbs.py::test_a_file_that_is_too_large_is_said_to_be_not_covered",
    ),
    # gate-gap, gate-rules, guard-fp
    "B048": (
        "safety/test_approval_chain.py::test_without_a_person_flagged_is_refused_unless_the_owner_said_so_before",
        "families/test_gate_kinds.py::test_a_script_runs_only_where_somebody_is_or_said_so",
    ),
    "B049": (
        "families/test_gate_kinds.py::test_without_a_person_no_door_of_the_program_runs_what_is_flagged",
    ),
    "B051": (
        "safety/test_approval_chain.py::test_what_was_refused_is_asked_about_when_it_comes_another_way",
    ),
    "B056": (
        "surfaces/test_chat_keys.py::test_what_was_typed_before_a_question_does_not_answer_it",
        "surfaces/test_chat.py::test_a_command_runs_after_a_clear_yes_only",
    ),
    "B059": ("families/test_gate_kinds.py::test_each_way_that_a_refusal_names_works",),
    "B423": (
        "families/test_gate_kinds.py::test_a_deny_rule_holds_for_each_command_of_a_line_however_it_is_spelt",
    ),
    "B424": (
        "surfaces/test_approval_verbs.py::test_a_rule_that_can_never_decide_stops_the_start_and_is_named",
        "surfaces/test_approval_verbs.py::test_a_rule_that_can_never_match_is_not_saved",
    ),
    "B425": (
        "safety/test_approval_chain.py::test_always_saves_the_exact_command_and_holds_at_once",
    ),
    "B426": ("safety/test_approval_chain.py::test_a_path_rule_holds_for_the_shell_too",),
    "B427": ("families/test_gate_kinds.py::test_what_is_allowed_does_not_ask",),
}


@cache
def defined(file: str) -> frozenset[str]:
    """The names of the tests that `file` defines."""
    tree = ast.parse((TESTS / file).read_text(encoding="utf-8"))
    functions = (n for n in tree.body if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef))
    return frozenset(n.name for n in functions if n.name.startswith("test_"))


@pytest.mark.parametrize("row", ROWS, ids=[row["id"] for row in ROWS])
def test_every_reported_fault_has_tests_that_exist(row: dict[str, str]) -> None:
    named = COVERED.get(row["id"], ())
    assert named, f"no test answers for {row['id']}: {row['symptom']}"
    missing = [
        test for test in named if test.partition("::")[2] not in defined(test.partition("::")[0])
    ]
    assert missing == []


def test_no_test_is_named_for_a_fault_that_is_not_here() -> None:
    assert sorted(COVERED) == sorted(row["id"] for row in ROWS)
