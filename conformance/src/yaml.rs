//! YAML as people mean it: `y`, `on` and the like are text.

use anyhow::Result;
use serde_json::Value;

/// Reads one document.
pub(crate) fn read(text: &str) -> Result<Value> {
    Ok(serde_saphyr::from_str_with_options(text, serde_saphyr::options! { strict_booleans: true })?)
}
