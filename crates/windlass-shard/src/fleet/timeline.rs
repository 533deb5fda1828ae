//! How a simulated fleet looks over time.

/// How a fleet looks at a time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sample {
    /// When.
    pub at_ms: u64,
    /// The objects that the ring gives each instance; none for one that does not run.
    pub loads: Vec<Option<u64>>,
    /// What these cost.
    pub costs: Vec<Option<u64>>,
    /// Objects that no one acts on.
    pub unowned: u64,
}

impl Sample {
    /// Number of instances that run.
    pub fn running(&self) -> usize {
        self.loads.iter().flatten().count()
    }

    /// The least, the mean and the most objects of an instance that runs; none if none runs.
    pub fn band(&self) -> Option<(u64, f64, u64)> {
        let loads = || self.loads.iter().flatten().copied();
        let mean = loads().sum::<u64>() as f64 / self.running() as f64;
        Some((loads().min()?, mean, loads().max()?))
    }
}

/// What a disturbance does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Change {
    /// A process stops without a word.
    Stopped,
    /// A process starts, be it again.
    Started,
    /// An instance begins to leave in order.
    Left,
    /// A process is paused.
    Paused,
    /// The costs of slots become known, or others.
    Weighed,
}

/// A disturbance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mark {
    /// When.
    pub at_ms: u64,
    /// What.
    pub change: Change,
}

/// How a fleet looks over time, and what has happened to it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Timeline {
    /// In the order of time.
    pub samples: Vec<Sample>,
    /// In the order of time, from the first disturbance on.
    pub marks: Vec<Mark>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_band_spans_the_instances_that_run() {
        let sample = Sample { loads: vec![Some(10), None, Some(20)], ..Sample::default() };
        assert_eq!((sample.running(), sample.band()), (2, Some((10, 15.0, 20))));
        assert_eq!(Sample { loads: vec![None], ..sample }.band(), None);
    }
}
