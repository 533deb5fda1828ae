//! The rules of a reconcile, one by one, end to end.
//!
//! | rule | what shows it |
//! | --- | --- |
//! | states, outcomes, restart | `outcomes::each_outcome`, `outcomes::a_change_restarts_from_the_first_state` |
//! | acyclic | at compile time: `windlass-derive/tests/ui`; at run time: the rows `astray` of `outcomes::each_outcome` |
//! | conditions | `outcomes::each_outcome`, `outcomes::times_move_with_the_status_alone`, `outcomes::conditions_of_old_states_go` |
//! | Ready | `outcomes::each_outcome` with and without conditions, a timeout in `faults::a_request_that_hangs_ends_with_its_reconcile` |
//! | observed generation | `outcomes::each_outcome`, `outcomes::generations_are_compared_as_numbers` |
//! | outputs | `outputs::outputs_are_applied_in_order_and_tied`, `scenarios::a_touch_costs_no_request` |
//! | inventory | `outputs::what_nothing_finds_again_is_recorded_first`, `scenarios::recovers_from_a_crash_at_any_write` |
//! | pruning | `outputs::stale_outputs_are_pruned_in_reverse_order`, `outputs::a_prune_that_is_held_up_is_remembered` |
//! | finalizer | `deletion::the_finalizer_goes_when_its_machine_is_done` |
//! | deletion without a finalizer machine | `deletion::without_a_finalizer_machine_nothing_runs` |
//! | triggers | `triggers::every_cause_is_kept` |
//! | create if not found | `machines::a_watched_object_makes_its_parent_and_a_panic_ends_no_watch` |
//! | suspend | `deletion::suspended_parents_are_left_alone`, `deletion::suspension_ends_with_its_condition` |
//! | conflicts | `writers::a_conflict_is_no_error`, `writers::what_is_there_already_is_not_taken` |
//! | hot loop | `contests` |
//! | queue | `load`; the interleavings in `src/queue/tests` |
//! | safety of a worker | `outcomes::each_outcome` (panic), `faults` (timeout, shutdown), `load` |
//! | reads | `triggers::reads_are_linearisable_unless_cached`, `triggers::own_writes_are_read_at_once` |
//! | events | `reporting::events_are_published_once`, `scenarios::events_report_what_happened` |
//! | metrics | `reporting::metrics_have_their_names` |
//! | start-up | `watches::a_watch_that_is_forbidden_is_named_and_tried_again`, `watches::readiness_names_the_watch_that_is_not_synced` |
//!
//! | trap | what shows that it is none here |
//! | --- | --- |
//! | stale outputs are never pruned | `outputs::stale_outputs_are_pruned_in_reverse_order` |
//! | conditions of states not reached keep an old True | `outcomes::a_change_restarts_from_the_first_state` |
//! | a cycle falsifies no condition | the rows `astray` and `bare-astray` of `outcomes::each_outcome` |
//! | references are recorded after creation | `outputs::what_nothing_finds_again_is_recorded_first`, `scenarios::recovers_from_a_crash_at_any_write` |
//! | status is written last-writer-wins | `writers::a_status_that_was_overtaken_is_decided_again`, `writers::conditions_of_others_stay` |
//! | "done and requeue" releases the finalizer | the row `again` of `deletion::the_finalizer_goes_when_its_machine_is_done` |
//! | apply is a merge patch | `outputs::outputs_are_applied_in_order_and_tied`, `writers::a_conflict_is_no_error` |
//! | duplicate state names look like cycles | states are variants of an enum, which Rust keeps apart; `windlass-derive/src/expand/tests.rs` for their conditions |
//! | generations are compared as strings | `outcomes::generations_are_compared_as_numbers` |

pub(crate) mod deletion;
pub(crate) mod outcomes;
pub(crate) mod outputs;
pub(crate) mod reporting;
mod scripted;
pub(crate) mod triggers;
pub(crate) mod writers;
