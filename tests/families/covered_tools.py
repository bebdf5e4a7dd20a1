"""Which tests answer for the faults of the tools: files, programs, approvals."""

from typing import Final

CODE = "families/test_code_kinds.py"
BACKGROUND = "families/test_background_kinds.py"
PAYLOAD = "families/test_payload_kinds.py"
GATES = "families/test_gate_kinds.py"
BACKEND = "contract/test_terminal_backend.py"
ONESHOT = "surfaces/test_oneshot.py"

TOOLS: Final[dict[str, tuple[str, ...]]] = {
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
    # background, programs, long results
    "B015": (f"{CODE}::test_all_tools_are_in_the_folder_that_the_session_is_in",),
    "B017": (
        f"{CODE}::test_a_tilde_is_expanded_where_the_file_will_be",
        "contract/test_files_port.py::test_a_tilde_is_the_home_folder_of_that_machine",
    ),
    "B025": (f"{CODE}::test_no_file_of_hermes_holds_a_part_of_a_key_after_a_failure",),
    "B026": (
        f"{CODE}::test_no_file_of_hermes_holds_a_part_of_a_key_after_a_failure",
        "safety/test_redact.py::test_no_part_of_a_secret_reaches_a_log",
    ),
    "B030": (
        f"{BACKGROUND}::test_a_program_that_ends_leaves_no_command_behind",
        "tools/test_process_tool.py::test_commands_end_with_their_session_and_with_hermes",
    ),
    "B031": (
        "tools/test_process_tool.py::test_too_many_are_refused_and_none_is_dropped",
        "tools/test_process_tool.py::test_commands_end_with_their_session_and_with_hermes",
    ),
    "B032": (f"{BACKGROUND}::test_a_command_that_goes_to_the_background_is_started_once",),
    "B033": (f"{CODE}::test_a_shell_that_never_answers_is_left_at_the_deadline_of_the_call",),
    "B037": (
        f"{BACKGROUND}::test_a_line_that_is_watched_for_is_told_once_and_the_end_is_not_another",
    ),
    "B038": (
        f"{BACKGROUND}::test_an_end_is_read_by_the_turn_that_is_running",
        f"{BACKGROUND}::test_an_end_begins_a_turn_if_none_runs",
    ),
    "B039": (f"{BACKGROUND}::test_what_was_killed_or_waited_for_is_not_told",),
    "B040": (f"{BACKGROUND}::test_what_was_killed_or_waited_for_is_not_told",),
    "B050": (
        f"{CODE}::test_a_shell_that_code_starts_is_asked_about_with_the_code",
        f"{CODE}::test_whichever_tool_is_first_they_run_in_the_same_place",
        f"{GATES}::test_a_script_runs_only_where_somebody_is_or_said_so",
    ),
    "B052": (
        "safety/test_command_cases.py::test_no_written_evasion_is_missed",
        "safety/test_command_evasions.py::test_a_disguise_never_weakens_the_verdict",
    ),
    "B054": (
        f"{CODE}::test_hermes_is_known_by_its_number_and_not_ended_without_a_yes",
        f"{CODE}::test_hermes_is_known_however_its_number_is_come_by",
        "terminals/test_sandbox_breakout.py::test_nothing_breaks_out",
    ),
    "B057": (
        "safety/test_command_cases.py::test_what_only_looks_like_inline_code_is_not_asked_about",
    ),
    "B058": (
        "safety/test_command_cases.py::test_what_only_looks_like_inline_code_is_not_asked_about",
        f"{GATES}::test_a_refusal_names_the_rule_that_met_it",
    ),
    "B136": (
        f"{PAYLOAD}::test_one_line_of_a_hundred_thousand_characters_is_bounded",
        f"{PAYLOAD}::test_a_long_output_keeps_its_ends_and_is_read_on_by_its_lines",
    ),
    "B137": (
        f"{PAYLOAD}::test_a_long_output_keeps_its_ends_and_is_read_on_by_its_lines",
        "agent/test_result_budgets.py::test_a_file_of_a_result_can_be_read_by_lines",
    ),
    "B138": (f"{PAYLOAD}::test_what_is_not_long_is_there_whole",),
    "B352": (
        f"{BACKGROUND}::test_a_stop_ends_the_turn_and_leaves_what_is_in_the_background",
        "surfaces/test_chat.py::test_ctrl_c_after_an_answered_question_stops_the_command",
        f"{ONESHOT}::test_an_interrupt_ends_the_command_that_runs_and_its_children",
    ),
    "B382": (
        f"{CODE}::test_a_file_that_code_makes_is_where_the_other_tools_look",
        f"{CODE}::test_a_tool_that_fails_within_code_is_no_silent_success",
    ),
    "B383": (
        f"{CODE}::test_what_a_command_exports_is_there_for_commands_and_code",
        f"{BACKEND}::test_only_allowed_variables_reach_a_command",
    ),
    "B384": (
        f"{CODE}::test_one_time_budget_is_for_code_and_the_tools_it_calls",
        f"{CODE}::test_a_call_within_code_has_the_limit_that_it_asks_for",
    ),
    "B385": (f"{CODE}::test_a_file_that_code_makes_is_where_the_other_tools_look",),
    "B398": (
        f"{CODE}::test_a_file_tool_that_is_first_meets_the_same_files_as_a_command",
        "terminals/test_sandbox_jails.py::test_without_an_engine_what_needs_one_is_refused",
    ),
    "B400": (f"{CODE}::test_whichever_tool_is_first_they_run_in_the_same_place",),
    "B402": (f"{CODE}::test_a_home_keeps_the_mode_that_its_owner_gave_it",),
}
