//! The fields of spans and events as text, without those that only trace collectors use.

use std::error::Error;
use std::fmt;

use tracing::field::Field;
use tracing_subscriber::field::{RecordFields, Visit, VisitOutput};
use tracing_subscriber::fmt::FormatFields;
use tracing_subscriber::fmt::format::{DefaultVisitor, Writer};

/// Such fields name a span, or say of which kind it is, for a collector; a line says so already.
const FOR_COLLECTORS: &str = "otel.";

/// Writes fields as usual, but for those.
pub(super) struct FieldsForPeople;

impl<'writer> FormatFields<'writer> for FieldsForPeople {
    fn format_fields<R: RecordFields>(&self, writer: Writer<'writer>, fields: R) -> fmt::Result {
        let mut visitor = ForPeople(DefaultVisitor::new(writer, true));
        fields.record(&mut visitor);
        visitor.0.finish()
    }
}

fn is_for_people(field: &Field) -> bool {
    !field.name().starts_with(FOR_COLLECTORS)
}

struct ForPeople<'writer>(DefaultVisitor<'writer>);

impl Visit for ForPeople<'_> {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        if is_for_people(field) {
            self.0.record_debug(field, value);
        }
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        if is_for_people(field) {
            self.0.record_str(field, value);
        }
    }

    fn record_error(&mut self, field: &Field, value: &(dyn Error + 'static)) {
        if is_for_people(field) {
            self.0.record_error(field, value);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io;
    use std::sync::{Arc, Mutex};

    use tracing_subscriber::layer::SubscriberExt;

    use super::*;

    /// What was logged.
    #[derive(Clone, Default)]
    struct Lines(Arc<Mutex<Vec<u8>>>);

    impl io::Write for Lines {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().expect("lock is not poisoned").extend(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn what_is_for_collectors_is_left_out() {
        let lines = Lines::default();
        let written = lines.clone();
        let layer = tracing_subscriber::fmt::layer()
            .with_writer(move || written.clone())
            .with_ansi(false)
            .without_time()
            .fmt_fields(FieldsForPeople);
        tracing::subscriber::with_default(tracing_subscriber::registry().with(layer), || {
            let span =
                tracing::info_span!("reconcile", otel.name = "reconcile a", object = "b", otel.status = 1);
            span.in_scope(|| tracing::info!(otel.kind = "client", path = "First", "done"));
        });
        let text = String::from_utf8(lines.0.lock().expect("lock is not poisoned").clone()).expect("text");
        assert_eq!(
            text,
            " INFO reconcile{object=\"b\"}: windlass_app::logs::fields::tests: done path=\"First\"\n"
        );
    }
}
