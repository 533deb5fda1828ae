//! The difference of two texts, line by line.

/// The lines of both, marked `-` if only the first has them and `+` if only the second has; far from any
/// difference they are left out. Empty if the texts are equal.
pub fn difference(expected: &str, found: &str) -> String {
    const CONTEXT: usize = 3;
    if expected == found {
        return String::new();
    }
    let marked = marked(&expected.lines().collect::<Vec<_>>(), &found.lines().collect::<Vec<_>>());
    let near = |index: usize| {
        let range = index.saturating_sub(CONTEXT)..(index + CONTEXT + 1).min(marked.len());
        marked[range].iter().any(|(mark, _)| *mark != ' ')
    };
    let mut text = String::new();
    let mut skipped = false;
    for (index, (mark, line)) in marked.iter().enumerate() {
        if near(index) {
            text.push_str(&format!("{mark} {line}\n"));
            skipped = false;
        } else if !skipped {
            text.push_str("  ...\n");
            skipped = true;
        }
    }
    text
}

/// By the longest common subsequence. Answers have some hundreds of lines, so a table of all pairs will do.
fn marked<'a>(expected: &[&'a str], found: &[&'a str]) -> Vec<(char, &'a str)> {
    let mut common = vec![vec![0_usize; found.len() + 1]; expected.len() + 1];
    for (i, left) in expected.iter().enumerate().rev() {
        for (j, right) in found.iter().enumerate().rev() {
            common[i][j] =
                if left == right { common[i + 1][j + 1] + 1 } else { common[i + 1][j].max(common[i][j + 1]) };
        }
    }
    let (mut i, mut j) = (0, 0);
    let mut lines = Vec::new();
    while i < expected.len() || j < found.len() {
        if i < expected.len() && j < found.len() && expected[i] == found[j] {
            lines.push((' ', expected[i]));
            (i, j) = (i + 1, j + 1);
        } else if j == found.len() || (i < expected.len() && common[i + 1][j] >= common[i][j + 1]) {
            lines.push(('-', expected[i]));
            i += 1;
        } else {
            lines.push(('+', found[j]));
            j += 1;
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_marked() {
        assert_eq!(difference("a\nb", "a\nb"), "");
        assert_eq!(difference("a\nb\nc", "a\nx\nc"), "  a\n- b\n+ x\n  c\n");
        let same = "1\n2\n3\n4\n5\n6\n";
        assert_eq!(difference(&format!("{same}a"), same), "  ...\n  4\n  5\n  6\n- a\n");
    }
}
