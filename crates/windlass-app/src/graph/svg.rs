//! Graphs as SVG that needs no other program.

use std::fmt::Write;

use super::Drawn;
use super::layout::{Item, rows};
use super::text::edges;
use crate::svg::Picture;

const BOX_WIDTH: i32 = 170;
const BOX_HEIGHT: i32 = 46;
const PASSING_WIDTH: i32 = 30;
const COLUMN_GAP: i32 = 24;
const ROW_GAP: i32 = 44;
const MARGIN: i32 = 20;
const TITLE_HEIGHT: i32 = 28;

const HEAD: &str = r##"<defs><marker id="arrow" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="8" markerHeight="8" orient="auto"><path d="M0,0 L8,4 L0,8 z" fill="#555"/></marker></defs>
<style>text{font-family:sans-serif;font-size:13px;text-anchor:middle}.title{font-weight:bold}.condition{font-size:11px;fill:#555}rect{fill:#fff;stroke:#555}.initial{fill:#e8f0fe}path{stroke:#555}</style>
"##;

/// Where the middle of something is.
type Point = (i32, i32);

/// All machines, one below the other.
pub(super) fn svg(name: &str, machines: &[Drawn]) -> String {
    let mut body = String::new();
    let (mut width, mut top) = (0, MARGIN);
    for machine in machines {
        let positions = positions(machine, top + TITLE_HEIGHT);
        width = width.max(positions.width);
        let title_x = MARGIN + BOX_WIDTH / 2;
        let _ =
            writeln!(body, r#"<text class="title" x="{title_x}" y="{}">{}</text>"#, top + 14, machine.title);
        machine_svg(&mut body, machine, &positions);
        top = positions.bottom + ROW_GAP;
    }
    let (width, height) = (width + MARGIN, top - ROW_GAP + MARGIN);
    Picture { width, height, title: name, description: "", head: HEAD, body: &body }.document()
}

/// Where everything of a machine is.
struct Positions {
    items: Vec<(Item, Point)>,
    width: i32,
    bottom: i32,
}

impl Positions {
    fn of(&self, wanted: Item) -> Option<Point> {
        self.items.iter().find(|(item, _)| *item == wanted).map(|(_, point)| *point)
    }

    /// The positions of an edge between its two boxes, from the top to the bottom.
    fn passing(&self, edge: (usize, usize)) -> impl Iterator<Item = Point> {
        let wanted = Item::Passing { from: edge.0, to: edge.1 };
        self.items.iter().filter(move |(item, _)| *item == wanted).map(|(_, point)| *point)
    }
}

fn positions(machine: &Drawn, top: i32) -> Positions {
    let rows = rows(machine.states);
    let widths: Vec<i32> = rows.iter().map(|row| row_width(row)).collect();
    let widest = widths.iter().copied().max().unwrap_or(0);
    let mut items = Vec::new();
    let mut y = top + BOX_HEIGHT / 2;
    for (row, row_width) in rows.iter().zip(widths) {
        let mut x = MARGIN + (widest - row_width) / 2;
        for item in row {
            items.push((*item, (x + item_width(*item) / 2, y)));
            x += item_width(*item) + COLUMN_GAP;
        }
        y += BOX_HEIGHT + ROW_GAP;
    }
    Positions { items, width: widest + MARGIN, bottom: y - ROW_GAP - BOX_HEIGHT / 2 }
}

fn row_width(row: &[Item]) -> i32 {
    row.iter().map(|item| item_width(*item) + COLUMN_GAP).sum::<i32>() - COLUMN_GAP
}

fn item_width(item: Item) -> i32 {
    match item {
        Item::State(_) => BOX_WIDTH,
        Item::Passing { .. } => PASSING_WIDTH,
    }
}

fn machine_svg(body: &mut String, machine: &Drawn, positions: &Positions) {
    for edge in edges(machine.states) {
        let (Some(from), Some(to)) = (positions.of(Item::State(edge.0)), positions.of(Item::State(edge.1)))
        else {
            continue;
        };
        let mut at = (from.0, from.1 + BOX_HEIGHT / 2);
        let mut path = format!("M{},{}", at.0, at.1);
        for (x, y) in positions.passing(edge) {
            curve(&mut path, at, (x, y - BOX_HEIGHT / 2));
            at = (x, y + BOX_HEIGHT / 2);
            let _ = write!(path, " L{},{}", at.0, at.1);
        }
        curve(&mut path, at, (to.0, to.1 - BOX_HEIGHT / 2));
        let _ = writeln!(body, r#"<path d="{path}" fill="none" marker-end="url(#arrow)"/>"#);
    }
    for (index, state) in machine.states.iter().enumerate() {
        let Some((x, y)) = positions.of(Item::State(index)) else { continue };
        let (left, top) = (x - BOX_WIDTH / 2, y - BOX_HEIGHT / 2);
        let class = if state.initial { r#" class="initial""# } else { "" };
        let _ = writeln!(
            body,
            r#"<rect x="{left}" y="{top}" width="{BOX_WIDTH}" height="{BOX_HEIGHT}" rx="6"{class}/>"#
        );
        let name_y = if state.condition.is_some() { y - 3 } else { y + 5 };
        let _ = writeln!(body, r#"<text x="{x}" y="{name_y}">{}</text>"#, state.name);
        if let Some(condition) = state.condition {
            let _ =
                writeln!(body, r#"<text class="condition" x="{x}" y="{}">{}</text>"#, y + 14, condition.kind);
        }
    }
}

/// Leaves and arrives downwards.
fn curve(path: &mut String, from: Point, to: Point) {
    let middle = (from.1 + to.1) / 2;
    let _ = write!(path, " C{},{middle} {},{middle} {},{}", from.0, to.0, to.0, to.1);
}
