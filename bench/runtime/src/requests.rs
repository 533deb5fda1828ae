//! What the API server has been asked for, by its own count.

use anyhow::{Context, Result};
use conformance::target::http::HttpTarget;

/// Requests for pairs, their status, and ConfigMaps.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Requests {
    pub(crate) writes: f64,
    pub(crate) reads: f64,
}

impl Requests {
    /// Those up to now.
    pub(crate) fn so_far(target: &HttpTarget) -> Result<Self> {
        Requests::of(&target.get("/metrics")?.text()).context("no requests are counted")
    }

    fn of(metrics: &str) -> Option<Self> {
        let mut requests = None;
        for line in metrics.lines().filter_map(|line| line.strip_prefix("apiserver_request_total{")) {
            let (labels, count) = line.rsplit_once("} ")?;
            let is = |label: &str| labels.contains(label);
            let requests = requests.get_or_insert_with(Requests::default);
            if !is("resource=\"configmaps\"") && !is("resource=\"pairs\"") {
                continue;
            }
            let count: f64 = count.trim().parse().ok()?;
            if ["POST", "PUT", "PATCH", "APPLY", "DELETE"].iter().any(|verb| is(&format!("verb=\"{verb}\"")))
            {
                requests.writes += count;
            } else if ["GET", "LIST"].iter().any(|verb| is(&format!("verb=\"{verb}\""))) {
                requests.reads += count;
            }
        }
        requests
    }

    /// Those since an earlier count.
    pub(crate) fn since(self, earlier: Requests) -> Requests {
        Requests { writes: self.writes - earlier.writes, reads: self.reads - earlier.reads }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_what_concerns_the_contestants() {
        let metrics = "# HELP apiserver_request_total\n\
            apiserver_request_total{code=\"200\",resource=\"configmaps\",verb=\"APPLY\"} 5\n\
            apiserver_request_total{code=\"201\",resource=\"pairs\",subresource=\"status\",verb=\"PATCH\"} 2\n\
            apiserver_request_total{code=\"200\",resource=\"pairs\",verb=\"LIST\"} 3\n\
            apiserver_request_total{code=\"200\",resource=\"pairs\",verb=\"WATCH\"} 9\n\
            apiserver_request_total{code=\"200\",resource=\"leases\",verb=\"PUT\"} 100\n";
        assert_eq!(Requests::of(metrics), Some(Requests { writes: 7.0, reads: 3.0 }));
        assert_eq!(Requests::of("nothing"), None);
    }
}
