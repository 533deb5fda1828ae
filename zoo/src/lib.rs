//! Broken controllers from bugs that real operators had, each with a repaired twin.
//!
//! Start with [`all`]: it lists the specimens. Each has a file of its own, which holds the story, one machine
//! that is written both ways, and the check that distinguishes the two. They do by hand what
//! [`Cx::ensure`](windlass::Cx::ensure) would do for them, as controllers in other frameworks must. The last four are
//! here because the checker itself once had their verdict wrong; each says which, and why.
//!
//! ```
//! let specimen = windlass_zoo::all().into_iter().find(|it| it.name == "second_child_in_the_first_ones_branch");
//! let specimen = specimen.expect("it is in the zoo");
//! let report = (specimen.broken)().run();
//! assert!(!report.holds());
//! println!("{}\n{report}", specimen.story);
//! assert!((specimen.repaired)().run().holds());
//! ```

mod broker;
mod by_hand;
mod specimen;

mod absent_from_the_cache;
mod already_exists_is_an_error;
mod count_that_triggers_itself;
mod create_that_the_cache_has_not_shown;
mod deleted_by_name;
mod error_taken_for_absence;
mod every_reconcile_fails;
mod fight_with_a_lucky_way_out;
mod finalizer_after_the_fact;
mod finalizer_gone_too_early;
mod generated_name_not_recorded;
mod generation_kept_in_an_annotation;
mod late_write_of_a_crashed_process;
mod late_write_without_a_version;
mod marked_before_done;
mod missed_delete_event;
mod old_spec_deletes_a_claim;
mod one_port_for_two;
mod ordered_twice;
mod pod_deleted_before_it_is_drained;
mod remembered_in_memory;
mod renamed_child_left_behind;
mod replaced_by_delete_and_create;
mod second_child_in_the_first_ones_branch;
mod takes_over_by_its_own_clock;
mod timeout_taken_for_failure;
mod timeout_taken_for_success;
mod two_controllers_one_field;
mod two_parents_one_child;
mod two_replicas_of_the_operator;
mod unreachable_taken_for_dead;
mod waits_to_see_the_end;
mod whole_object_written_back;

pub use specimen::{Specimen, Twin};

/// All specimens, in the order in which they are best read.
pub fn all() -> Vec<Specimen> {
    vec![
        second_child_in_the_first_ones_branch::specimen(),
        replaced_by_delete_and_create::specimen(),
        already_exists_is_an_error::specimen(),
        marked_before_done::specimen(),
        remembered_in_memory::specimen(),
        generated_name_not_recorded::specimen(),
        ordered_twice::specimen(),
        timeout_taken_for_failure::specimen(),
        timeout_taken_for_success::specimen(),
        error_taken_for_absence::specimen(),
        pod_deleted_before_it_is_drained::specimen(),
        finalizer_after_the_fact::specimen(),
        finalizer_gone_too_early::specimen(),
        deleted_by_name::specimen(),
        late_write_without_a_version::specimen(),
        whole_object_written_back::specimen(),
        waits_to_see_the_end::specimen(),
        missed_delete_event::specimen(),
        old_spec_deletes_a_claim::specimen(),
        absent_from_the_cache::specimen(),
        create_that_the_cache_has_not_shown::specimen(),
        renamed_child_left_behind::specimen(),
        two_parents_one_child::specimen(),
        two_controllers_one_field::specimen(),
        count_that_triggers_itself::specimen(),
        two_replicas_of_the_operator::specimen(),
        one_port_for_two::specimen(),
        takes_over_by_its_own_clock::specimen(),
        unreachable_taken_for_dead::specimen(),
        generation_kept_in_an_annotation::specimen(),
        late_write_of_a_crashed_process::specimen(),
        fight_with_a_lucky_way_out::specimen(),
        every_reconcile_fails::specimen(),
    ]
}
