"""Which tests answer for the faults of the loop, the store, the model and the configuration."""

from typing import Final

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

LOOP: Final[dict[str, tuple[str, ...]]] = {
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
}
