//! Managers as a table.

use windlass_runtime::managers::{ManagerRow, controller_summary};

use crate::columns;

const TITLES: [&str; 5] = ["ID", "TYPE", "ALIVE", "LAST-HEALTHPROBE", "CONTROLLERS"];

/// One line for each manager, under a line of titles.
pub(super) fn table(rows: &[ManagerRow]) -> String {
    columns::table(TITLES, rows.iter().map(cells))
}

fn cells(row: &ManagerRow) -> [String; 5] {
    let or_dash = |text: String| if text.is_empty() { "-".to_owned() } else { text };
    // As the seconds of a clock: no one needs more of it.
    let last = row.last_healthprobe_at.as_deref().map(|time| match time.split_once('.') {
        Some((seconds, _)) => format!("{seconds}Z"),
        None => time.to_owned(),
    });
    [
        row.id.clone(),
        or_dash(row.manager_type.clone()),
        if row.alive { "yes" } else { "no" }.to_owned(),
        or_dash(last.unwrap_or_default()),
        or_dash(controller_summary(&row.controllers)),
    ]
}

/// Whether something has changed that is worth printing again. That those who live go on renewing their Leases is not.
pub(super) fn differ(before: &[ManagerRow], after: &[ManagerRow]) -> bool {
    let without_renewal = |row: &ManagerRow| ManagerRow {
        last_healthprobe_at: row.last_healthprobe_at.clone().filter(|_| !row.alive),
        ..row.clone()
    };
    !before.iter().map(without_renewal).eq(after.iter().map(without_renewal))
}

#[cfg(test)]
mod tests {
    use windlass_runtime::managers::ControllerStatus;

    use super::*;

    fn row(id: &str, alive: bool, last: Option<&str>) -> ManagerRow {
        let controller =
            |name: &str, workers, active| ControllerStatus { controller: name.to_owned(), workers, active };
        ManagerRow {
            id: id.to_owned(),
            manager_type: "pods".to_owned(),
            alive,
            last_healthprobe_at: last.map(str::to_owned),
            lease: format!("default/{id}"),
            holder: String::new(),
            controllers: vec![controller("deployment", 5, 2), controller("scaleset", 10, 0)],
        }
    }

    #[test]
    fn columns_are_as_wide_as_they_must_be() {
        let mut never = row("a-longer-id", false, None);
        never.controllers.clear();
        let rows = [row("uuid1", true, Some("2026-01-02T03:04:05.678901Z")), never];
        let expected = "\
ID            TYPE   ALIVE   LAST-HEALTHPROBE       CONTROLLERS
uuid1         pods   yes     2026-01-02T03:04:05Z   deployment 5/2, scaleset 10/0
a-longer-id   pods   no      -                      -
";
        assert_eq!(table(&rows), expected);
    }

    #[test]
    fn renewals_are_not_printed_again() {
        let alive = |last| vec![row("a", true, Some(last))];
        assert!(!differ(&alive("2026-01-02T03:04:05Z"), &alive("2026-01-02T03:04:07Z")));
        assert!(differ(&alive("2026-01-02T03:04:05Z"), &[row("a", false, Some("2026-01-02T03:04:05Z"))]));
        assert!(differ(&alive("2026-01-02T03:04:05Z"), &[]));
        let mut paused = row("a", true, Some("2026-01-02T03:04:05Z"));
        paused.controllers[0].workers = 0;
        assert!(differ(&alive("2026-01-02T03:04:05Z"), &[paused]));
    }
}
